// Helm's own program, and with the argument "work" a worker for one process of the controller: it reads
// requests from its standard input, one JSON document a line, and writes one answer a line, until its input
// ends. A worker carries out one request at a time, so that whoever asks can end that one with the process.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart"
	chartcommon "helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	valuesloader "helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	helmcmd "helm.sh/helm/v4/pkg/cmd"
	"helm.sh/helm/v4/pkg/kube"
	kubefake "helm.sh/helm/v4/pkg/kube/fake"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/client-go/rest"
)

// The field manager of everything that Helm applies.
const manager = "helm"

type request struct {
	Action      string            `json:"action"`
	Release     string            `json:"release"`
	Namespace   string            `json:"namespace"`
	User        string            `json:"user"`
	Chart       string            `json:"chart"`
	Values      string            `json:"values"`
	Labels      map[string]string `json:"labels"`
	Description string            `json:"description"`
	Timeout     int               `json:"timeout"`
	// Of a rollback, the revision to go back to; of a render, the one that the upgrade makes, 0 for an install.
	Version     int  `json:"version"`
	MaxHistory  int  `json:"maxHistory"`
	Server      bool `json:"server"`
	NoHooks     bool `json:"noHooks"`
	KeepHistory bool `json:"keepHistory"`
	// Requests a second to the API server, of all workers that share the file `budget`, and at once.
	QPS    float32 `json:"qps"`
	Burst  int     `json:"burst"`
	Budget string  `json:"budget"`
	// Where what the API server can do is kept for all workers.
	Discovery string `json:"discovery"`
}

type answer struct {
	// Always: that this is an answer.
	Done     bool   `json:"done"`
	Error    string `json:"error,omitempty"`
	Missing  bool   `json:"missing,omitempty"`
	Revision int    `json:"revision,omitempty"`
	Status   string `json:"status,omitempty"`
	Text     string `json:"text,omitempty"`
}

func main() {
	kube.ManagedFieldsManager = manager
	if len(os.Args) == 2 && os.Args[1] == "work" {
		os.Exit(work(os.Stdin, os.Stdout))
	}
	command, err := helmcmd.NewRootCmd(os.Stdout, os.Args[1:], helmcmd.SetupLogging)
	if err != nil {
		slog.Warn("command failed", slog.Any("error", err))
		os.Exit(1)
	}
	if err := command.Execute(); err != nil {
		var failed helmcmd.CommandError
		if errors.As(err, &failed) {
			os.Exit(failed.ExitCode)
		}
		os.Exit(1)
	}
}

// worker holds what requests share: connections by namespace and user.
type worker struct {
	connections map[string]*cli.EnvSettings
	// What all workers may ask of the API server, nil where that is not bounded.
	budget *budget
	// Ends the present request, nil where nothing but the end of the process does.
	cancel atomic.Pointer[context.CancelFunc]
}

func work(in io.Reader, out io.Writer) int {
	// Remarks on charts and warnings of the API server are no part of an answer.
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	w := &worker{connections: map[string]*cli.EnvSettings{}}
	go w.listen()
	reader, encoder := bufio.NewReaderSize(in, 1<<16), json.NewEncoder(out)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var asked request
		if err := json.Unmarshal(line, &asked); err != nil {
			return 2
		}
		given, err := w.carryOut(asked)
		if err != nil {
			given.Error = err.Error()
			given.Missing = errors.Is(err, driver.ErrReleaseNotFound)
		}
		given.Done = true
		if err := encoder.Encode(given); err != nil {
			return 2
		}
	}
}

// listen ends the present request at SIGTERM; what it cannot end so, it ends with the process.
func (w *worker) listen() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	<-signals
	if cancel := w.cancel.Load(); cancel != nil {
		(*cancel)()
		return
	}
	os.Exit(143)
}

func (w *worker) carryOut(asked request) (answer, error) {
	switch asked.Action {
	case "render":
		return w.render(asked)
	case "install":
		return w.install(asked)
	case "upgrade":
		return w.upgrade(asked)
	case "uninstall":
		return w.uninstall(asked)
	case "rollback":
		return w.rollback(asked)
	}
	return answer{}, fmt.Errorf("no action %q is known", asked.Action)
}

func (w *worker) configuration(asked request) (*action.Configuration, error) {
	configuration := action.NewConfiguration()
	settings, err := w.settings(asked)
	if err != nil {
		return nil, err
	}
	if err := configuration.Init(settings.RESTClientGetter(), asked.Namespace, "secret"); err != nil {
		return nil, err
	}
	return configuration, nil
}

func (w *worker) settings(asked request) (*cli.EnvSettings, error) {
	os.Setenv("KUBECACHEDIR", asked.Discovery)
	key := asked.Namespace + "\x00" + asked.User + "\x00" + asked.Discovery
	if known, found := w.connections[key]; found {
		return known, nil
	}
	settings := cli.New()
	settings.SetNamespace(asked.Namespace)
	if asked.Budget != "" && w.budget == nil {
		opened, err := openBudget(asked.Budget, asked.QPS, asked.Burst)
		if err != nil {
			return nil, err
		}
		w.budget = opened
	}
	if err := w.configure(settings, asked.User); err != nil {
		return nil, err
	}
	w.connections[key] = settings
	return settings, nil
}

// configure sets what Helm's settings cannot: that all clients take their requests from one budget, where Helm
// makes a client with its own for each object; and the user, which in a pod would be taken for a kubeconfig,
// and the pod's own account be forgotten (k8s.io/client-go/tools/clientcmd, IsDefaultConfig).
func (w *worker) configure(settings *cli.EnvSettings, user string) error {
	flags, known := settings.RESTClientGetter().(*genericclioptions.ConfigFlags)
	if !known {
		return fmt.Errorf("connections of type %T are not known", settings.RESTClientGetter())
	}
	wrap := flags.WrapConfigFn
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		wrapped := wrap(config)
		wrapped.Impersonate.UserName = user
		if w.budget != nil {
			wrapped.RateLimiter = w.budget
		}
		return wrapped
	}
	return nil
}

// prepare gives what each action with a chart begins with.
func (w *worker) prepare(asked request) (*action.Configuration, chart.Charter, map[string]any, error) {
	configuration, err := w.configuration(asked)
	if err != nil {
		return nil, nil, nil, err
	}
	loaded, values, err := inputs(asked)
	return configuration, loaded, values, err
}

func inputs(asked request) (chart.Charter, map[string]any, error) {
	values, err := valuesloader.LoadValues(strings.NewReader(asked.Values))
	if err != nil {
		return nil, nil, err
	}
	loaded, err := loader.Load(asked.Chart)
	if err != nil {
		return nil, nil, err
	}
	accessor, err := chart.NewAccessor(loaded)
	if err != nil {
		return nil, nil, err
	}
	if kind, _ := accessor.MetadataAsMap()["Type"].(string); kind != "" && kind != "application" {
		return nil, nil, fmt.Errorf("%s charts are not installable", kind)
	}
	if needed := accessor.MetaDependencies(); len(needed) > 0 {
		if err := action.CheckDependencies(loaded, needed); err != nil {
			return nil, nil, fmt.Errorf("chart dependencies are missing: %w", err)
		}
	}
	return loaded, values, nil
}

func (w *worker) render(asked request) (answer, error) {
	configuration, loaded, values, err := w.prepare(asked)
	if err != nil {
		return answer{}, err
	}
	strategy := action.DryRunClient
	if asked.Server {
		strategy = action.DryRunServer
	}
	var made any
	if asked.Version > 1 {
		made, err = renderUpgrade(configuration, loaded, values, asked, strategy)
	} else {
		client := action.NewInstall(configuration)
		client.DryRunStrategy = strategy
		// It would look whose the objects are, and give nothing else where some are not the release's.
		client.TakeOwnership = asked.Server
		client.ReleaseName, client.Namespace = asked.Release, asked.Namespace
		client.Replace = true // the name may be in use
		made, err = client.Run(loaded, values)
	}
	if err != nil {
		return answer{}, err
	}
	rendered, err := asRelease(made)
	if err != nil {
		return answer{}, err
	}
	var text strings.Builder
	fmt.Fprintln(&text, strings.TrimSpace(rendered.Manifest))
	for _, hook := range rendered.Hooks {
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
	}
	return answer{Text: text.String()}, nil
}

// renderUpgrade gives what the upgrade to that revision makes. Templates may ask whether they are rendered for
// an install, or for which revision, and then make other objects. What is recorded does not matter here: the
// revision before is one that has nothing.
func renderUpgrade(
	configuration *action.Configuration, loaded chart.Charter, values map[string]any, asked request,
	strategy action.DryRunStrategy,
) (any, error) {
	if strategy == action.DryRunClient {
		// As an install does by itself: nothing is asked of the API server.
		configuration.Capabilities = chartcommon.DefaultCapabilities.Copy()
		configuration.KubeClient = &kubefake.PrintingKubeClient{Out: io.Discard}
	}
	before := &release.Release{
		Name: asked.Release, Namespace: asked.Namespace, Version: asked.Version - 1,
		Info: &release.Info{Status: common.StatusDeployed}, ApplyMethod: string(release.ApplyMethodServerSideApply),
	}
	memory := driver.NewMemory()
	memory.SetNamespace(asked.Namespace)
	configuration.Releases = storage.Init(memory)
	if err := configuration.Releases.Create(before); err != nil {
		return nil, err
	}
	client := action.NewUpgrade(configuration)
	client.Namespace = asked.Namespace
	client.DryRunStrategy = strategy
	client.ResetValues, client.TakeOwnership = true, asked.Server
	return client.Run(asked.Release, loaded, values)
}

func (w *worker) install(asked request) (answer, error) {
	configuration, loaded, values, err := w.prepare(asked)
	if err != nil {
		return answer{}, err
	}
	client := action.NewInstall(configuration)
	client.ReleaseName, client.Namespace = asked.Release, asked.Namespace
	client.Replace = true // else a name all of whose revisions have failed is refused
	client.ForceConflicts = true
	client.DisableOpenAPIValidation = true
	client.WaitStrategy = kube.HookOnlyStrategy
	client.Timeout = time.Duration(asked.Timeout) * time.Second
	client.Labels, client.Description = asked.Labels, asked.Description
	return w.cancellable(func(ctx context.Context) (any, error) {
		return client.RunWithContext(ctx, loaded, values)
	})
}

func (w *worker) upgrade(asked request) (answer, error) {
	configuration, loaded, values, err := w.prepare(asked)
	if err != nil {
		return answer{}, err
	}
	client := action.NewUpgrade(configuration)
	client.Namespace = asked.Namespace
	client.ResetValues = true // empty values mean none, not those of before
	client.ForceConflicts = true
	client.ServerSideApply = "auto"
	client.DisableOpenAPIValidation = true
	client.WaitStrategy = kube.HookOnlyStrategy
	client.Timeout = time.Duration(asked.Timeout) * time.Second
	client.MaxHistory = asked.MaxHistory
	client.Labels, client.Description = asked.Labels, asked.Description
	return w.cancellable(func(ctx context.Context) (any, error) {
		return client.RunWithContext(ctx, asked.Release, loaded, values)
	})
}

// cancellable runs what a context ends: Helm then records that it failed.
func (w *worker) cancellable(run func(context.Context) (any, error)) (answer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.cancel.Store(&cancel)
	defer w.cancel.Store(nil)
	made, err := run(ctx)
	if err != nil {
		return answer{}, err
	}
	done, err := asRelease(made)
	if err != nil {
		return answer{}, err
	}
	return answer{Revision: done.Version, Status: string(done.Info.Status)}, nil
}

func (w *worker) uninstall(asked request) (answer, error) {
	configuration, err := w.configuration(asked)
	if err != nil {
		return answer{}, err
	}
	client := action.NewUninstall(configuration)
	client.DeletionPropagation = "background"
	client.DisableHooks, client.KeepHistory = asked.NoHooks, asked.KeepHistory
	client.WaitStrategy = kube.HookOnlyStrategy
	client.Timeout = time.Duration(asked.Timeout) * time.Second
	_, err = client.Run(asked.Release)
	return answer{}, err
}

func (w *worker) rollback(asked request) (answer, error) {
	configuration, err := w.configuration(asked)
	if err != nil {
		return answer{}, err
	}
	client := action.NewRollback(configuration)
	client.Version, client.MaxHistory = asked.Version, asked.MaxHistory
	client.ForceConflicts = true
	client.ServerSideApply = "auto"
	client.WaitStrategy = kube.HookOnlyStrategy
	client.Timeout = time.Duration(asked.Timeout) * time.Second
	return answer{}, client.Run(asked.Release)
}

func asRelease(made any) (*release.Release, error) {
	switch one := made.(type) {
	case *release.Release:
		return one, nil
	case release.Release:
		return &one, nil
	}
	return nil, fmt.Errorf("a release of type %T is not known", made)
}
