"""The steps of a pass, each with the ports that it works with."""

from __future__ import annotations

from controller.ports.accounts import ReaderAccounts, RegionAccounts, WrappedKeys
from controller.reconcile.credentials.ceph.ceph_exchange import CephExchange
from controller.reconcile.credentials.ceph.ceph_request import CephRequest
from controller.reconcile.credentials.ceph.exchanged_owners import ExchangedOwners
from controller.reconcile.credentials.certificates.amphora_certificates import AmphoraCertificates
from controller.reconcile.credentials.certificates.certificate_ends import CertificateEnds
from controller.reconcile.credentials.certificates.own_certificates import OwnCertificates
from controller.reconcile.credentials.certificates.sealing_key import SealingKey
from controller.reconcile.credentials.exchange.clouds_export import CloudsExport
from controller.reconcile.credentials.exchange.secret_exchange import SecretExchange
from controller.reconcile.credentials.generation.credential_texts import CredentialTexts
from controller.reconcile.credentials.generation.disowning import Disowning
from controller.reconcile.credentials.generation.generation import Generation
from controller.reconcile.credentials.readers.reader_account import ReadOnlyAccount
from controller.reconcile.credentials.recovery.credential_history import CredentialHistory, RegisterEntry
from controller.reconcile.credentials.recovery.lost_credentials import LostCredentials
from controller.reconcile.credentials.region_pass import SecretsPorts
from controller.reconcile.credentials.rotation.credential_uptake import CredentialUptake
from controller.reconcile.credentials.rotation.rotation import CredentialRotation
from controller.reconcile.credentials.rotation.rotation_recall import RotationRecall
from controller.reconcile.credentials.steps import Step, Steps


def credential_steps(
    ports: SecretsPorts,
    *,
    accounts: RegionAccounts | None = None,
    wrapped: WrappedKeys | None = None,
    readers: ReaderAccounts | None = None,
    sealing: SealingKey | None = None,
) -> Steps:
    """All of them. `accounts` and `wrapped` are of servers whose passwords rotate, `readers` makes accounts
    that may only read: without them these steps are left out. `sealing` seals the keys of the region's
    authority."""
    kube, clock, randomness, events = ports.kube, ports.clock, ports.randomness, ports.events
    steps: Steps = {
        Step.OWNERS: ExchangedOwners(kube),
        Step.EXCHANGE: SecretExchange(kube, clock),
        Step.HISTORY: CredentialHistory(kube, ports.records),
        Step.ROTATION_RECORDS: RotationRecall(clock),
        Step.RECOVERY: LostCredentials(ports.records, events, ports.option_files),
        Step.DISOWNING: Disowning(),
        Step.GENERATION: Generation(),
        Step.TEXTS: CredentialTexts(clock),
        Step.CERTIFICATES: OwnCertificates(kube, clock, randomness, events, sealing),
        Step.AMPHORAE: AmphoraCertificates(kube, clock, randomness, events),
        Step.REGISTER: RegisterEntry(kube),
        Step.CLOUDS: CloudsExport(kube),
        Step.CEPH_REQUEST: CephRequest(kube),
        Step.CEPH: CephExchange(
            kube, ports.digest_key, CredentialUptake(kube, ports.records, ports.option_files)
        ),
        Step.CERTIFICATE_ENDS: CertificateEnds(kube, clock),
    }
    if accounts is not None and wrapped is not None:
        steps = {**steps, Step.ROTATION: CredentialRotation(ports, accounts, wrapped)}
    if readers is not None:
        steps = {**steps, Step.READERS: ReadOnlyAccount(kube, clock, randomness, events, readers)}
    return steps
