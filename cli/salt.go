package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/yaml"
)

// exitNoReturn is the exit code of a run without any return.
const exitNoReturn = 2

// Salt runs the program salt until it is done or ctx ends, and returns its exit code
// (salt/cli/salt.py).
//
// If no master answers, so that no job can be sent, Salt ends with 0; this program ends with 2.
func Salt(ctx context.Context, in Invocation, stdout, stderr io.Writer) int {
	o, err := ParseSalt(in)
	if err != nil {
		return PrintError(err, stdout, stderr)
	}
	cfg, err := clientConfig(o.Line, o.ConfigDir, in, stderr)
	if err != nil {
		return PrintError(err, stdout, stderr)
	}
	s := &saltRun{o: o, cfg: cfg, opts: cfg.Map(), in: in}
	if err := ReadClientConfig(s.opts, in, time.Now()); err != nil {
		return PrintError(err, stdout, stderr)
	}
	o.Merge(s.opts)
	if s.out, err = o.NewPrinter(s.opts, s.fun(), stdout, stderr); err != nil {
		return PrintError(err, stdout, stderr)
	}
	end, err := s.out.OpenOutputters(ctx, s.opts, stderr)
	if err != nil {
		return PrintError(err, stdout, stderr)
	}
	defer end()
	code := s.run(ctx)
	if err := s.out.Flush(); err != nil && code == exitOK {
		return exitGeneric
	}
	return code
}

// PrintError prints why a program ends before it starts, and returns its exit code.
func PrintError(err error, stdout, stderr io.Writer) int {
	var exit *Exit
	if errors.As(err, &exit) {
		return exit.Print(stdout, stderr)
	}
	fmt.Fprintf(stderr, "%v%s\n", err, RightsHint(err))
	return exitGeneric
}

// clientConfig reads the master's configuration, as all programs on its host do.
func clientConfig(l *Line, dir string, in Invocation, stderr io.Writer) (*config.Master, error) {
	cfg, report, err := config.LoadClient(dir, in.Env)
	if err != nil {
		return nil, err
	}
	opts := cfg.Map()
	l.Merge(opts)
	PrintWarnings(stderr, opts, report)
	return cfg, nil
}

// saltRun is one run of salt.
type saltRun struct {
	o     *SaltOptions
	cfg   *config.Master
	opts  *data.Map // configuration with the command line applied
	in    Invocation
	out   *Printer
	local *client.Local
	// prints for the user of a function that submits orders; nil for the program salt
	notify func(text string)
}

// fun returns the called function, or the first of a compound command.
func (s *saltRun) fun() string {
	if len(s.o.Calls) == 0 {
		return ""
	}
	return s.o.Calls[0].Fun
}

func (s *saltRun) run(ctx context.Context) int {
	switch {
	case s.o.ConfigDump:
		return s.dump()
	case s.missing() != "":
		s.out.PrintErr("salt: %s\n", s.missing())
		return exitGeneric
	case s.o.PreviewTarget:
		return s.preview()
	}
	request, err := s.request()
	if err != nil {
		return s.fail(err)
	}
	if err := s.limit(); err != nil {
		return s.fail(err)
	}
	if _, err := s.plan(); s.o.Batch != "" && err != nil {
		s.out.Printf("%s\n", err)
		return exitGeneric
	}
	wire, err := HostWire(s.opts)
	if err != nil {
		return s.fail(err)
	}
	requester := wire.Request(s.dialMaster())
	defer requester.Close()
	if s.local, err = client.Open(ctx, s.clientOptions(requester)); err != nil {
		return s.fail(err)
	}
	defer s.local.Close()
	if code, ok := s.logIn(ctx); !ok {
		return code
	}
	switch {
	case s.o.Batch != "":
		return s.batch(ctx, request)
	case s.o.Static:
		return s.static(ctx, request)
	}
	return s.publish(ctx, request)
}

// missing names the part of the command line that this program does not support.
func (s *saltRun) missing() string {
	switch {
	case s.o.TargetKind == "range":
		return "range targets (-R) are not supported by this version"
	}
	return ""
}

// dump prints the configuration, for --config-dump.
func (s *saltRun) dump() int {
	text, err := yaml.Dump(s.opts, yaml.DumpOptions{SortKeys: true})
	if err != nil {
		return s.fail(err)
	}
	s.out.Printf("%s", text)
	return exitOK
}

// dialMaster returns how to reach the request port of the master on this host.
func (s *saltRun) dialMaster() transport.Dialer {
	host := strings.Trim(s.opts.Text("interface"), "[]")
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	port := strconv.Itoa(int(floatOf(s.opts.Value("ret_port"))))
	return transport.Dialer{Addr: "tcp://" + net.JoinHostPort(host, port),
		BackoffMin: 20 * time.Millisecond, BackoffMax: time.Second}
}

func (s *saltRun) clientOptions(out transport.Requester) client.Options {
	log := logging.Discard()
	o := client.Options{CacheDir: s.opts.Text("cachedir"), SockDir: s.opts.Text("sock_dir"),
		User: s.opts.Text("user"), Caller: userName(), Sudo: s.in.Env("SUDO_USER"), Out: out,
		Timeout: s.timeout(), Tiers: client.TiersOf(s.opts), Log: log}
	if s.opts.Text("ipc_mode") == "tcp" {
		o.Sockets = eventbus.TCPSockets(int(floatOf(s.opts.Value("tcp_master_pub_port"))),
			int(floatOf(s.opts.Value("tcp_master_pull_port"))))
	}
	return o
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "root"
}

// seconds returns the duration of an option given in seconds.
func (s *saltRun) seconds(option string) time.Duration {
	return time.Duration(floatOf(s.opts.Value(option)) * float64(time.Second))
}

// timeout returns how long a minion may take, from -t or the configuration.
func (s *saltRun) timeout() time.Duration {
	if s.o.Timeout > 0 {
		return time.Duration(s.o.Timeout) * time.Second
	}
	return s.cfg.Timeout
}

// wait returns how long to wait for returns.
func (s *saltRun) wait(showSilent bool) client.Wait {
	return client.Wait{Timeout: s.timeout(), Gather: s.seconds("gather_job_timeout"),
		ShowSilent: showSilent}
}

// request builds the publication of the command line.
func (s *saltRun) request() (client.Request, error) {
	r := client.Request{Kind: s.o.TargetKind, Ret: s.returners(), Kwargs: s.kwargs(),
		Timeout: s.timeout()}
	var err error
	if r.Target, r.Kind, err = s.target(); err != nil {
		return r, err
	}
	if !s.o.Multi {
		r.Fun, r.Arg = s.fun(), loader.WireArgs(s.o.Calls[0].Args, s.o.NoParse...)
		return r, nil
	}
	var funs []any
	for _, c := range s.o.Calls {
		funs = append(funs, c.Fun)
		r.Arg = append(r.Arg, any(loader.WireArgs(c.Args, s.o.NoParse...)))
	}
	r.Fun = funs
	return r, nil
}

// returners returns the returners to which minions send their results besides the master.
func (s *saltRun) returners() string {
	more := s.opts.Text("ext_job_cache")
	if s.o.Return == "" || more == "" {
		return s.o.Return + more
	}
	return s.o.Return + "," + more
}

// kwargs returns the options of the publication (salt/cli/salt.py, run).
func (s *saltRun) kwargs() *data.Map {
	m := data.NewMap("show_timeout", s.o.ShowTimeout, "show_jid", s.o.ShowJID,
		"delimiter", s.o.Delimiter)
	if s.o.ReturnConfig != "" {
		m.Set("ret_config", s.o.ReturnConfig)
	}
	returnKwargs, _ := s.o.ReturnKwargs.(string)
	for _, f := range [][2]string{{"ret_kwargs", returnKwargs},
		{"module_executors", s.o.ModuleExecutors},
		{"executor_opts", s.o.ExecutorOpts}, {"metadata", s.o.Metadata}} {
		if f[1] != "" {
			m.Set(f[0], loader.YAMLArg(f[1]))
		}
	}
	if s.o.Queue != "" {
		m.Set("queue", int64(s.o.QueueFor/time.Second))
	}
	return m
}

// groupWords returns the words of a target that may name node groups; nil if its kind has none.
func (s *saltRun) groupWords() []string {
	text, _ := s.o.Target.(string)
	switch s.o.TargetKind {
	case "nodegroup":
		return []string{"N@" + text}
	case "compound":
		return append([]string{}, strings.Fields(text)...)
	}
	return nil
}

// target returns the target with all node groups expanded, so that minions need not know them
// (salt/client/__init__.py, _prep_pub).
func (s *saltRun) target() (tgt any, kind string, err error) {
	text, ok := s.o.Target.(string)
	if !ok {
		return s.o.Target, s.o.TargetKind, nil
	}
	expanded, kind, err := match.ExpandTarget(text, s.o.TargetKind, s.cfg.Nodegroups)
	if none, ok := errors.AsType[*match.NodegroupError](err); ok {
		return nil, "", &invocationError{fmt.Sprintf("Node group %s unavailable in %s", none.Name, s.opts.Text("conf_file"))}
	}
	if err != nil {
		return nil, "", err
	}
	return expanded, kind, nil
}

// An invocationError is a command line error that Salt prints like a result.
type invocationError struct{ text string }

func (e *invocationError) Error() string { return e.text }

// publish sends the job and prints the returns.
func (s *saltRun) publish(ctx context.Context, r client.Request) int {
	if s.o.Subset > 0 {
		ids, err := s.subset(ctx, r)
		if err != nil {
			return s.fail(err)
		}
		r.Target, r.Kind = ids, "list"
	}
	job, err := s.local.Publish(ctx, r)
	var noMinions *client.NoMinionsError
	switch {
	case errors.As(err, &noMinions):
		return s.noMinions(noMinions, r)
	case err != nil:
		return s.fail(err)
	case s.o.Async:
		s.out.Printf("Executed command with job ID: %s\n", job.ID)
		return exitOK
	}
	if text := fmt.Sprintf("Executing job with jid %s", job.ID); s.o.Verbose && !s.o.Progress {
		s.out.Printf("%s\n%s\n\n", text, strings.Repeat("-", len(text)))
	} else if s.o.ShowJID {
		s.out.Printf("jid: %s\n", job.ID)
	}
	_ = s.out.Flush() // show the id at once; errors surface when the run ends
	s.reportQueue(job)
	switch {
	case s.o.Progress:
		return s.collectProgress(ctx, job)
	case s.docs():
		return s.collectDocs(ctx, job)
	}
	return s.collect(ctx, job)
}

// noMinions ends a run whose target matches no minion.
func (s *saltRun) noMinions(cause *client.NoMinionsError, r client.Request) int {
	if cause.NotRecorded() {
		return s.notRecorded(cause)
	}
	s.out.Printf("No minions matched the target. No command was sent, no jid was assigned.\n")
	s.reason(cause, r)
	switch {
	case s.o.Async:
		s.out.Printf("Executed command with job ID: 0\n")
		return exitOK
	case s.docs():
		return s.noDocs()
	}
	return s.nothing(data.NewMap())
}

// notRecorded ends a run whose targeted minions exist but whose job was recorded nowhere. The exit
// code is that of a job for nobody.
func (s *saltRun) notRecorded(cause *client.NoMinionsError) int {
	_ = s.out.Flush()
	s.out.PrintErr("ERROR: %s\n", cause.Text)
	if s.o.Async {
		return exitOK
	}
	return exitNoReturn
}

// reason prints why a target matches no minion, if that is known.
func (s *saltRun) reason(cause *client.NoMinionsError, r client.Request) {
	text := cause.Text
	if _, said, ok := strings.Cut(text, unresolved+data.Str(r.Target)+": "); ok {
		text = said
	} else if strings.HasPrefix(text, unresolved) || text == client.NobodyMatched {
		text = ""
	}
	if circle := match.CheckCircular(s.groupWords(), s.cfg.Nodegroups); text != "" &&
		circle != nil {
		text = circle.Error() + ": " + text
	}
	if listed, _ := r.Target.([]any); text == "" && r.Kind == "list" && len(listed) > 0 {
		text = "No such minion: the master has no accepted key of any of these ids"
	}
	if _ = s.out.Flush(); text != "" { // before the text on the other stream
		s.out.PrintErr("%s\n", text)
	}
}

// unresolved begins a master's message about a target that matches nobody. A Salt master adds only
// the target (salt/channel/server.py).
const unresolved = "Master could not resolve minions for target "

// nothing ends a run that has nothing to print.
func (s *saltRun) nothing(empty any) int {
	if err := s.out.Print(empty, "", 0); err != nil && !errors.Is(err, output.ErrKey) {
		return exitGeneric
	}
	s.out.PrintErr("ERROR: No return received\n")
	return exitNoReturn
}

// reportDeniedBus reports that a master may be running but the user may not open its bus.
func (s *saltRun) reportDeniedBus(err error) {
	if text := deniedSocket(err, s.opts); text != "" {
		s.out.Log("ERROR", text)
	}
}

// deniedSocket names the socket of the master's bus that the user may not open; "" for another
// error.
func deniedSocket(err error, opts *data.Map) string {
	if !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	path := opts.Text("sock_dir")
	var refused *fs.PathError
	var dial *net.OpError
	if errors.As(err, &refused) {
		path = refused.Path
	} else if errors.As(err, &dial) && dial.Addr != nil {
		path = dial.Addr.String()
	}
	owner := ownerOf(path)
	if owner == "" {
		owner = opts.Text("user")
	}
	return fmt.Sprintf("User %s may not open %s: permission denied. Only the user of the master (%s) and those whom publisher_acl names may",
		userName(), path, owner)
}

// fail prints why nothing was done. Salt prints the master's refusals and target errors as output
// and ends with 0. This is kept because scripts rely on the text.
func (s *saltRun) fail(err error) int {
	var invalid *invocationError
	text, code := err.Error(), exitGeneric
	switch {
	case errors.Is(err, context.Canceled):
		s.out.PrintErr("\nExiting gracefully on Ctrl-c\n")
		return s.hardCrash()
	case errors.As(err, &invalid):
		code = exitOK
	case errors.Is(err, client.ErrNotAuthenticated):
		text, code = client.ErrNotAuthenticated.Error(), exitOK
	case errors.Is(err, client.ErrNotAuthorized):
		text, code = client.ErrNotAuthorized.Error(), exitOK
	case errors.Is(err, client.ErrKey):
		s.out.Log("ERROR", err.Error())
		text = client.ErrNotAuthenticated.Error()
	case errors.Is(err, client.ErrNoMaster):
		s.out.Log("ERROR", "Unable to connect to the salt master publisher at "+
			s.opts.Text("sock_dir"))
		s.reportDeniedBus(err)
		text, code = client.ErrNoMaster.Error(), exitNoReturn
	case errors.Is(err, client.ErrTimeout):
		s.out.Log("ERROR", "Message timed out")
		code = exitNoReturn
	}
	if s.out.Print(text, "", 1) != nil {
		return exitGeneric
	}
	return code
}
