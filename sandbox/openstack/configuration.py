"""The configuration files of one cloud. Everything listens on loopback only."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.openstack.series import HOST, Places
from sandbox.openstack.servers import Programs

REGION = "RegionOne"
# The cloud's own accounts: it holds nothing and listens on loopback.
PASSWORD = "sandbox"  # noqa: S105
COMPUTES = ("cmp1", "cmp2", "cmp3")
SERVICE_USERS = ("placement", "nova", "glance", "neutron", "cinder")
DATABASES = ("keystone", "placement", "nova_api", "nova_cell0", "nova", "glance", "neutron", "cinder")
# Short, so that tests need not wait: a compute that dies is down after 10 s.
REPORT_SECONDS, DOWN_SECONDS, AGENT_DOWN_SECONDS = 2, 10, 15

Section = Mapping[str, Any]


@dataclass(frozen=True)
class Configuration:
    """Writes the files of a cloud under `places.run`."""

    places: Places
    ports: Mapping[str, int]
    programs: Programs

    @property
    def identity_url(self) -> str:
        return self.url("keystone", "/v3")

    def url(self, service: str, path: str = "") -> str:
        return f"http://{HOST}:{self.ports[service]}{path}"

    def database(self, name: str) -> str:
        login = f"sandbox:{PASSWORD}@{HOST}:{self.ports['mariadb']}"
        return f"mysql+pymysql://{login}/{name}?charset=utf8mb4"

    def write(self) -> None:
        """All of them; idempotent."""
        self._keystone()
        self._placement()
        self._nova()
        self._glance()
        self._neutron()
        self._cinder()
        self._servers()

    # -- shared sections ----------------------------------------------------------------------------

    def _file(self, name: str, sections: Mapping[str, Section]) -> None:
        lines = []
        for section, options in sections.items():
            lines += [f"[{section}]", *(f"{key} = {value}" for key, value in options.items()), ""]
        path = self.places.run / "etc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines))

    def _account(self, user: str, **more: Any) -> Section:
        domain = {"user_domain_name": "Default", "project_domain_name": "Default"}
        login = {"auth_type": "password", "auth_url": self.identity_url, "username": user}
        return {
            **login,
            **domain,
            "password": PASSWORD,
            "project_name": "service",
            "region_name": REGION,
            **more,
        }

    def _token_check(self, user: str) -> Section:
        return self._account(
            user,
            www_authenticate_uri=self.identity_url,
            service_token_roles="service",  # noqa: S106 - the name of a role
            service_token_roles_required="true",  # noqa: S106
        )

    def _db(self, name: str) -> Section:
        return {"connection": self.database(name), "max_pool_size": 5, "max_overflow": 20}

    def _messaging(self) -> dict[str, Any]:
        return {
            "transport_url": f"rabbit://guest:guest@{HOST}:{self.ports['rabbit']}/",
            "rpc_response_timeout": 30,
            "graceful_shutdown_timeout": 3,
        }

    def _common(self, name: str) -> dict[str, Section]:
        return {
            "oslo_messaging_rabbit": {"heartbeat_in_pthread": "false"},
            "oslo_messaging_notifications": {"driver": "noop"},
            "oslo_concurrency": {"lock_path": self.places.run / "lock" / name},
        }

    # -- one service each ---------------------------------------------------------------------------

    def _keystone(self) -> None:
        keys = self.places.run / "keys"
        self._file(
            "keystone/keystone.conf",
            {
                "DEFAULT": {"max_token_size": 255},
                "database": self._db("keystone"),
                "token": {"provider": "fernet", "expiration": 86400},
                "identity": {"password_hash_rounds": 4},
                "fernet_tokens": {"key_repository": keys / "fernet"},
                "fernet_receipts": {"key_repository": keys / "fernet"},
                "credential": {"key_repository": keys / "credential"},
                "oslo_messaging_notifications": {"driver": "noop"},
            },
        )

    def _placement(self) -> None:
        self._file(
            "placement/placement.conf",
            {
                "api": {"auth_strategy": "keystone"},
                "keystone_authtoken": self._token_check("placement"),
                "placement_database": self._db("placement"),
            },
        )

    def _nova(self) -> None:
        run = self.places.run
        default = {
            **self._messaging(),
            "my_ip": HOST,
            "osapi_compute_listen": HOST,
            "osapi_compute_listen_port": self.ports["nova"],
            "osapi_compute_workers": 1,
            "enabled_apis": "osapi_compute",
            "report_interval": REPORT_SECONDS,
            "service_down_time": DOWN_SECONDS,
            "update_resources_interval": 20,
            "sync_power_state_interval": -1,
            "heal_instance_info_cache_interval": -1,
            # Its node identity is kept in state_path, so that a compute can be started again.
            "compute_driver": "fake.FakeDriverWithoutFakeNodes",
            "vif_plugging_is_fatal": "false",
            "vif_plugging_timeout": 0,
            "reserved_host_memory_mb": 0,
            "allow_resize_to_same_host": "false",
        }
        api_paste = run / "etc/nova/api-paste.ini"
        sections: dict[str, Section] = {
            "api": {"auth_strategy": "keystone"},
            "conductor": {"workers": 1},
            "scheduler": {"workers": 1, "discover_hosts_in_cells_interval": 3},
            "compute": {"live_migration_wait_for_vif_plug": "false"},
            "glance": {"api_servers": self.url("glance")},
            "neutron": self._account("neutron"),
            "placement": self._account("placement"),
            "service_user": self._account("nova", send_service_user_token="true"),  # noqa: S106
            "cinder": self._account("nova", catalog_info="block-storage::publicURL"),
            "keystone_authtoken": self._token_check("nova"),
            "wsgi": {"api_paste_config": api_paste},
            "vnc": {"enabled": "false"},
            "spice": {"enabled": "false"},
        }
        databases = {"api_database": self._db("nova_api"), "database": self._db("nova")}
        main = {"DEFAULT": {**default, "state_path": run / "state/nova"}, **sections, **databases}
        self._file("nova/nova.conf", {**main, **self._common("nova")})
        for host in COMPUTES:
            state = run / "state" / f"nova-{host}"
            (state / "instances").mkdir(parents=True, exist_ok=True)
            # A compute has no business with the databases.
            own = {"DEFAULT": {**default, "host": host, "state_path": state}, **sections}
            self._file(f"nova-{host}/nova.conf", {**own, **self._common(f"nova-{host}")})
        shutil.copy(self.places.venv / "etc/nova/api-paste.ini", api_paste)

    def _glance(self) -> None:
        run = self.places.run
        images = run / "state/glance"
        self._file(
            "glance/glance-api.conf",
            {
                "DEFAULT": {
                    "bind_host": HOST,
                    "bind_port": self.ports["glance"],
                    "workers": 0,
                    "enabled_backends": "fs:file",
                },
                "database": self._db("glance"),
                "keystone_authtoken": self._token_check("glance"),
                "paste_deploy": {
                    "flavor": "keystone",
                    "config_file": self.places.venv / "etc/glance/glance-api-paste.ini",
                },
                "glance_store": {"default_backend": "fs"},
                "fs": {"filesystem_store_datadir": images / "images"},
                "os_glance_staging_store": {"filesystem_store_datadir": images / "staging"},
                "os_glance_tasks_store": {"filesystem_store_datadir": images / "tasks"},
                "oslo_concurrency": {"lock_path": run / "lock/glance"},
                "oslo_messaging_notifications": {"driver": "noop"},
            },
        )

    def _neutron(self) -> None:
        run = self.places.run
        default = {
            **self._messaging(),
            "core_plugin": "ml2",
            "service_plugins": "router,osctl_trunks.TrunkPlugin",
            "bind_host": HOST,
            "bind_port": self.ports["neutron"],
            "api_workers": 1,
            "rpc_workers": 1,
            "rpc_state_report_workers": 0,
            "dhcp_agent_notification": "false",
            "agent_down_time": AGENT_DOWN_SECONDS,
            "state_path": run / "state/neutron",
            "api_paste_config": self.places.venv / "etc/neutron/api-paste.ini",
        }
        self._file(
            "neutron/neutron.conf",
            {
                "DEFAULT": default,
                "database": self._db("neutron"),
                "keystone_authtoken": self._token_check("neutron"),
                "nova": self._account("nova"),
                "placement": self._account("placement"),
                **self._common("neutron"),
            },
        )
        self._file(
            "neutron/ml2_conf.ini",
            {
                "ml2": {
                    "type_drivers": "flat,vlan,vxlan,local",
                    "tenant_network_types": "vxlan",
                    "mechanism_drivers": "osctl_loopback",
                    "extension_drivers": "port_security,uplink_status_propagation",
                },
                "ml2_type_flat": {"flat_networks": "public"},
                "ml2_type_vxlan": {"vni_ranges": "1:1000"},
            },
        )

    def _cinder(self) -> None:
        run = self.places.run
        default = {
            **self._messaging(),
            "auth_strategy": "keystone",
            "osapi_volume_listen": HOST,
            "osapi_volume_listen_port": self.ports["cinder"],
            "osapi_volume_workers": 1,
            # A volume service of a compute node, as with disks of the nodes themselves.
            "host": COMPUTES[0],
            "state_path": run / "state/cinder",
            "api_paste_config": self.places.venv / "etc/cinder/api-paste.ini",
            "enabled_backends": "lvm",
            "glance_api_servers": self.url("glance"),
            "report_interval": REPORT_SECONDS,
            "service_down_time": DOWN_SECONDS,
        }
        backend = {
            "volume_driver": "osctl_volumes.LoopbackVolumes",
            "volume_backend_name": "lvm",
        }
        self._file(
            "cinder/cinder.conf",
            {
                "DEFAULT": default,
                "lvm": backend,
                "database": self._db("cinder"),
                "keystone_authtoken": self._token_check("cinder"),
                "nova": self._account("nova"),
                "service_user": self._account("cinder", send_service_user_token="true"),  # noqa: S106
                **self._common("cinder"),
            },
        )

    def _servers(self) -> None:
        run, usr = self.places.run, self.programs.basedir
        data = run / "mysql"
        own = {
            "basedir": usr,
            "datadir": data,
            "socket": run / "mysql.sock",
            "pid-file": run / "mysql.pid",
            "tmpdir": run / "tmp",
            "bind-address": HOST,
            "port": self.ports["mariadb"],
            "lc-messages-dir": usr / "share/mysql",
            "character-sets-dir": usr / "share/mysql/charsets",
            "plugin-dir": usr / "lib/mysql/plugin",
            "max_connections": 500,
            "performance_schema": "off",
            "innodb_buffer_pool_size": "128M",
            "innodb_log_file_size": "32M",
            # A crash of the machine may cost this cloud: it is made again in seconds.
            "innodb_flush_log_at_trx_commit": 0,
            "innodb_doublewrite": 0,
            "character-set-server": "utf8mb4",
            "collation-server": "utf8mb4_general_ci",
        }
        self._file("mariadb.cnf", {"mariadbd": {**own, "skip-name-resolve": 1, "skip-log-bin": 1}})
        rabbit = run / "etc/rabbit"
        rabbit.mkdir(parents=True, exist_ok=True)
        (rabbit / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = {HOST}:{self.ports['rabbit']}\n"
            "loopback_users.guest = true\n"
            "disk_free_limit.absolute = 50MB\n"
            "vm_memory_high_watermark.absolute = 512MB\n"
            "log.console = true\n"
            "log.file = false\n"
        )
        (rabbit / "advanced.config").write_text("[{kernel, [{inet_dist_use_interface, {127,0,0,1}}]}].\n")
        (rabbit / "enabled_plugins").write_text("[].\n")
