package master

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/minionfs"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/schedule"
)

// files answers file requests of minions, and receives files that they push (salt/master.py,
// AESFuncs; salt/fileserver/__init__.py, Fileserver). Malformed requests get the same reply as
// missing files.
type files struct {
	server   *fileserver.Server
	inbox    *minionfs.Inbox
	settings *settings
	quiet    *loglimit.Limiter
	guard    *stallGuard
	log      logrus.FieldLogger
}

// fileCommands returns the commands about files.
func fileCommands(b base, server *fileserver.Server, inbox *minionfs.Inbox) map[string]command {
	f := &files{
		server:   server,
		inbox:    inbox,
		settings: b.settings,
		quiet:    b.quiet,
		guard:    newStallGuard(),
		log:      b.log,
	}
	all := map[string]command{
		"_file_recv":          {do: f.limited(defaultLimit, f.receive), proof: true, effect: true},
		"_file_hash":          {do: f.limited(hashLimit, f.hash)},
		"_file_hash_and_stat": {do: f.limited(hashLimit, f.hashAndStat)},
	}
	for name, do := range map[string]action{
		"_serve_file":          f.serve,
		"_file_find":           f.find,
		"_file_envs":           f.envs,
		"_symlink_list":        f.symlinks,
		"_file_list":           f.list(fileserver.Files),
		"_file_list_emptydirs": f.list(fileserver.EmptyDirs),
		"_dir_list":            f.list(fileserver.Dirs),
		"_master_opts":         (&options{b.settings, server}).masterOpts,
	} {
		all[name] = command{do: f.limited(defaultLimit, do)}
	}
	return all
}

type action = func(context.Context, *channel.Command) (any, error)

// limited runs a command that may block on a hanging file system, for at most the given time.
func (f *files) limited(limit time.Duration, do action) action {
	return func(ctx context.Context, c *channel.Command) (any, error) {
		return f.guard.do(ctx, limit, func(ctx context.Context) (any, error) { return do(ctx, c) })
	}
}

// wanted returns the path and environment of a request; env is the default. An environment that is
// not text is converted to text.
func wanted(c *channel.Command, env string) (path, saltenv string) {
	path, _ = c.Load.Text("path")
	if c.Load.Has("saltenv") {
		env = data.Str(c.Load.Value("saltenv"))
	}
	return path, env
}

// failed logs an error, with a rate limit, and returns the reply for the minion. reply is the one
// for a missing file.
func (f *files) failed(c *channel.Command, err error, reply any) (any, error) {
	if errors.Is(err, fileserver.ErrNotFound) {
		return reply, nil
	}
	f.quiet.Warnf(f.log.WithError(err), c.Name+" "+c.Caller.ID,
		"Request %s of minion %s failed", c.Name, c.Caller.ID)
	return "", nil
}

// find answers _file_find.
func (f *files) find(ctx context.Context, c *channel.Command) (any, error) {
	path, env := wanted(c, "base")
	found, err := f.server.Find(ctx, path, env)
	if err != nil {
		return f.failed(c, err, data.NewMap("path", "", "rel", ""))
	}
	reply := data.NewMap("path", found.Path, "rel", found.Rel)
	if found.Stat != nil {
		reply.Set("stat", found.Stat.Values())
	}
	reply.Set("back", found.Backend)
	return reply, nil
}

// hash answers _file_hash.
func (f *files) hash(ctx context.Context, c *channel.Command) (any, error) {
	sum, _, err := f.sum(ctx, c)
	if err != nil {
		return f.failed(c, err, "")
	}
	return sum, nil
}

// hashAndStat answers _file_hash_and_stat.
func (f *files) hashAndStat(ctx context.Context, c *channel.Command) (any, error) {
	sum, stat, err := f.sum(ctx, c)
	if err != nil {
		_, err = f.failed(c, err, "")
		return []any{"", nil}, err
	}
	if stat == nil {
		return []any{sum, nil}, nil
	}
	return []any{sum, stat.Values()}, nil
}

func (f *files) sum(ctx context.Context, c *channel.Command) (*data.Map, *fileserver.Stat, error) {
	if !c.Load.Has("saltenv") {
		return nil, nil, fileserver.ErrNotFound
	}
	path, env := wanted(c, "")
	h, stat, err := f.server.HashAndStat(ctx, path, env)
	if err != nil {
		return nil, nil, err
	}
	return data.NewMap("hash_type", h.Type, "hsum", h.Sum), stat, nil
}

// serve answers _serve_file.
func (f *files) serve(ctx context.Context, c *channel.Command) (any, error) {
	missing := data.NewMap("data", "", "dest", "")
	if !c.Load.Has("saltenv") || !c.Load.Has("loc") {
		return missing, nil
	}
	path, env := wanted(c, "")
	r := fileserver.Request{Path: path, Env: env, Client: c.Caller.ID}
	var ok bool
	if r.Loc, ok = c.Load.Int("loc"); !ok {
		return f.failed(c, fmt.Errorf("%w: loc is not a number", fileserver.ErrRequest), nil)
	}
	if r.Gzip, ok = gzipLevel(c.Load.Value("gzip")); !ok {
		return f.failed(c, fmt.Errorf("%w: gzip is not a compression level", fileserver.ErrRequest),
			nil)
	}
	chunk, err := f.server.Serve(ctx, r)
	if err != nil {
		return f.failed(c, err, missing)
	}
	if len(chunk.Data) == 0 {
		return data.NewMap("data", "", "dest", chunk.Dest), nil
	}
	reply := data.NewMap("data", chunk.Data, "dest", chunk.Dest)
	if chunk.Gzip > 0 {
		reply.Set("gzip", int64(chunk.Gzip))
	}
	return reply, nil
}

func gzipLevel(v any) (level int, ok bool) {
	switch v := v.(type) {
	case nil:
		return 0, true
	case bool:
		if v {
			level = 1
		}
		return level, true
	case int64:
		return int(v), v >= 0 && v <= 9
	}
	return 0, !data.Truth(v)
}

// list returns the action for lists of one kind.
func (f *files) list(kind fileserver.Kind) action {
	return func(ctx context.Context, c *channel.Command) (any, error) {
		l, ok := listOf(c)
		if !ok {
			return []any{}, nil
		}
		l.Kind = kind
		if kind == fileserver.EmptyDirs {
			l.Backends = nil
		}
		names, err := f.server.List(ctx, l)
		if err != nil {
			return f.failed(c, err, nil)
		}
		return data.Values(names), nil
	}
}

// symlinks answers _symlink_list.
func (f *files) symlinks(ctx context.Context, c *channel.Command) (any, error) {
	l, ok := listOf(c)
	if !ok {
		return data.NewMap(), nil
	}
	links, err := f.server.Symlinks(ctx, l)
	if err != nil {
		return f.failed(c, err, nil)
	}
	return links, nil
}

func listOf(c *channel.Command) (l fileserver.ListOf, ok bool) {
	_, l.Env = wanted(c, "")
	l.Prefix, _ = c.Load.Text("prefix")
	l.Backends = backendNames(c.Load.Value("fsbackend"))
	return l, c.Load.Has("saltenv")
}

// backendNames returns backend names from a list or a comma-separated text.
func backendNames(v any) []string {
	if s, ok := v.(string); ok && s != "" {
		return strings.Split(s, ",")
	}
	return data.TextsOf(v)
}

// envs answers _file_envs.
func (f *files) envs(ctx context.Context, c *channel.Command) (any, error) {
	backends := backendNames(c.Load.Value("back"))
	if data.Truth(c.Load.Value("sources")) {
		reply := data.NewMap()
		for _, b := range f.server.Select(backends...) {
			envs, err := f.server.Envs(ctx, b.Name())
			if err != nil {
				return f.failed(c, err, nil)
			}
			reply.Set(b.Name(), data.Values(envs))
		}
		return reply, nil
	}
	envs, err := f.server.Envs(ctx, backends...)
	if err != nil {
		return f.failed(c, err, nil)
	}
	return data.Values(envs), nil
}

// receive answers _file_recv: it stores a piece of a pushed file.
func (f *files) receive(_ context.Context, c *channel.Command) (any, error) {
	cfg := f.settings.config()
	parts, ok := c.Load.Value("path").([]any)
	loc, isNumber := c.Load.Int("loc")
	if !cfg.FileRecv || !ok || !isNumber || len(parts) > 1000 {
		return false, nil
	}
	p := minionfs.Piece{Minion: c.Caller.ID, Loc: loc, Max: int64(cfg.FileRecvMaxSize) << 20}
	for _, part := range parts {
		text, _ := part.(string)
		p.Path = append(p.Path, text)
	}
	if p.Data, ok = c.Load.Bytes("data"); !ok {
		return false, nil
	}
	if err := f.inbox.Receive(p); err != nil {
		_, err = f.failed(c, err, nil)
		return false, err
	}
	return true, nil
}

// options answers requests for the master's options (salt/master.py, AESFuncs._master_opts).
type options struct {
	settings *settings
	files    *fileserver.Server
}

// optionNames are the options that minions may read.
var optionNames = []string{
	"renderer", "failhard", "state_top", "state_top_saltenv", "nodegroups", "state_auto_order",
	"state_events", "state_aggregate", "jinja_env", "jinja_sls_env", "jinja_lstrip_blocks",
	"jinja_trim_blocks",
}

func (o *options) masterOpts(ctx context.Context, c *channel.Command) (any, error) {
	envs, err := o.files.Envs(ctx)
	if err != nil {
		return nil, err
	}
	roots := data.NewMap()
	for _, env := range envs {
		roots.Set(env, []any{})
	}
	reply := data.NewMap("file_roots", roots)
	copyFields(reply, o.settings.saltOptions(), "top_file_merging_strategy", "env_order",
		"default_top")
	if only, _ := c.Load.Bool("env_only"); !only {
		copyFields(reply, o.settings.saltOptions(), optionNames...)
	}
	return reply, nil
}

// A fileServer is the file server of a master with the tasks that update it.
type fileServer struct {
	*fileserver.Server
	base
	makers fileserver.Makers // of backends in addition to roots and minionfs
}

// openFileServer opens the file server. With fileserver_verify_config off, it may have no backends.
func openFileServer(ctx context.Context, b base, makers fileserver.Makers) (*fileServer, error) {
	f := &fileServer{base: b, makers: makers}
	o, err := f.options(ctx)
	if err != nil && data.Truth(b.settings.saltOptions().Value("fileserver_verify_config")) {
		return nil, err
	}
	if err != nil {
		b.log.WithError(err).Error("The file server cannot serve everything that is configured")
	}
	f.Server = fileserver.New(o)
	return f, nil
}

// options returns the file server's options from the current configuration. It also initializes the
// backends.
func (f *fileServer) options(ctx context.Context) (fileserver.Options, error) {
	cfg := f.settings.config()
	o := fileserver.Options{HashType: cfg.HashType, BufferSize: cfg.FileBufferSize, Log: f.log}
	makers := fileserver.Makers{roots.Name: roots.Make, minionfs.Name: minionfs.Make}
	maps.Copy(makers, f.makers)
	var err error
	if o.Backends, err = fileserver.Build(f.settings.saltOptions(), makers, f.log); err != nil {
		return o, err
	}
	for _, b := range o.Backends {
		if b, ok := b.(fileserver.Initer); ok {
			err = errors.Join(err, b.Init(ctx))
		}
	}
	return o, err
}

// renewFiles applies changed options of the file server.
func (m *Master) renewFiles(old *config.Master) {
	f := m.parts.files
	if data.Equal(fileOptions(old.Map()), fileOptions(f.settings.saltOptions())) {
		return
	}
	was := f.tasks()
	o, err := f.options(context.Background())
	if err == nil {
		err = f.SetOptions(o)
	}
	now := f.tasks()
	for _, t := range was { // the name of a task contains its interval
		if !slices.ContainsFunc(now, func(n schedule.Task) bool { return n.Name == t.Name }) {
			m.schedule.Remove(t.Name)
		}
	}
	for _, t := range now {
		err = errors.Join(err, m.schedule.Add(t))
	}
	if err != nil {
		m.log.WithError(err).Error("The file server could not apply all of the new configuration")
	}
}

// fileOptions returns the options that a file server depends on. Backend options begin with the
// name of the backend.
func fileOptions(opts *data.Map) *data.Map {
	prefixes := []string{"file_", "fileserver_", "hash_type", "cachedir"}
	for _, name := range data.TextsOf(opts.Value("fileserver_backend")) {
		prefixes = append(prefixes, name+"_")
	}
	out := data.NewMap()
	for k, v := range opts.All() {
		name, _ := k.(string)
		for _, prefix := range prefixes {
			if strings.HasPrefix(name, prefix) {
				out.Set(name, v)
				break
			}
		}
	}
	return out
}

// defaultUpdate is the update interval of a backend whose option is 0 or not set
// (salt.config.DEFAULT_INTERVAL).
const defaultUpdate = time.Minute

// tasks returns the tasks that update the backends. Each backend is updated at its own
// interval, NAME_update_interval, or at those of its sources (salt/master.py, FileserverUpdate).
func (f *fileServer) tasks() []schedule.Task {
	tasks := []schedule.Task{{Name: "__fileserver", Every: time.Minute,
		Do: func(context.Context) error {
			f.Sweep(time.Minute)
			return nil
		}}}
	for _, b := range f.Backends() {
		name := b.Name()
		if r, ok := b.(fileserver.RemoteUpdater); ok {
			tasks = append(tasks, f.remoteTasks(name, r)...)
			continue
		}
		tasks = append(tasks, schedule.Task{
			Name:       "__fileserver_" + name,
			Every:      updateInterval(f.settings.saltOptions().Value(name + "_update_interval")),
			RunOnStart: true,
			Do:         func(ctx context.Context) error { return f.Update(ctx, f.announce, name) },
		})
	}
	return tasks
}

// remoteTasks returns the tasks that update the sources of a backend, one for each interval.
func (f *fileServer) remoteTasks(name string, r fileserver.RemoteUpdater) []schedule.Task {
	same := map[time.Duration][]string{}
	for remote, every := range r.Intervals() {
		if every < time.Second {
			every = defaultUpdate
		}
		same[every] = append(same[every], remote)
	}
	var tasks []schedule.Task
	for every, remotes := range same {
		tasks = append(
			tasks,
			schedule.Task{Name: fmt.Sprintf("__fileserver_%s_%s", name, every), Every: every,
				RunOnStart: true,
				Do: func(ctx context.Context) error {
					c, err := r.UpdateRemotes(ctx, remotes)
					if err == nil {
						f.announce(name, c)
					}
					return err
				}},
		)
	}
	return tasks
}

// updateInterval converts the value of an option like roots_update_interval, in seconds. Invalid
// values count as defaultUpdate.
func updateInterval(v any) time.Duration {
	n, _ := v.(int64)
	if n <= 0 || n > 1e9 {
		return defaultUpdate
	}
	return time.Duration(n) * time.Second
}

// announce fires the result of an update, if fileserver_events is on.
func (f *fileServer) announce(backend string, c fileserver.Change) {
	if !data.Truth(f.settings.saltOptions().Value("fileserver_events")) {
		return
	}
	if err := f.bus.Fire(eventbus.Tagify("fileserver", backend, "update"),
		c.Event(backend)); err != nil {
		f.log.WithError(err).Error("announce an update of the file server")
	}
}

// maxReaction is the maximum size, in bytes, of a salt:// file that the reactor reads.
const maxReaction = 4 << 20

// read returns the content of a file.
func (f *fileServer) read(ctx context.Context, path string) ([]byte, error) {
	var text []byte
	for {
		chunk, err := f.Serve(ctx,
			fileserver.Request{Path: path, Env: "base", Loc: int64(len(text))})
		if err != nil {
			return nil, err
		}
		if len(chunk.Data) == 0 {
			return text, nil
		}
		if text = append(text, chunk.Data...); len(text) > maxReaction {
			return nil, fmt.Errorf("salt://%s is longer than %d bytes", path, maxReaction)
		}
	}
}
