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

// files answers requests of minions for files, and takes those that they push (salt/master.py, AESFuncs;
// salt/fileserver/__init__.py, Fileserver). What is asked for wrongly is answered as what is not there.
type files struct {
	server   *fileserver.Server
	inbox    *minionfs.Inbox
	settings *settings
	quiet    *loglimit.Limiter
	patience *patience
	log      logrus.FieldLogger
}

// fileCommands lists the commands that have to do with files.
func fileCommands(p *parts) map[string]command {
	f := &files{server: p.files, inbox: minionfs.NewInbox(p.cfg.CacheDir), settings: p.settings, quiet: p.quiet, patience: newPatience(), log: p.o.Log}
	all := map[string]command{
		"_file_recv": {do: f.within(ordinaryLimit, f.receive), proof: true, effect: true},
		"_file_hash": {do: f.within(hashLimit, f.hash)}, "_file_hash_and_stat": {do: f.within(hashLimit, f.hashAndStat)},
	}
	for name, do := range map[string]action{
		"_serve_file": f.serve, "_file_find": f.find, "_file_envs": f.envs, "_symlink_list": f.symlinks,
		"_file_list": f.list(fileserver.Files), "_file_list_emptydirs": f.list(fileserver.EmptyDirs), "_dir_list": f.list(fileserver.Dirs),
		"_master_opts": (&options{p.settings, p.files}).masterOpts,
	} {
		all[name] = command{do: f.within(ordinaryLimit, do)}
	}
	return all
}

type action = func(context.Context, *channel.Command) (any, error)

// within does a command that may meet a file system that hangs.
func (f *files) within(limit time.Duration, do action) action {
	return func(ctx context.Context, c *channel.Command) (any, error) {
		return f.patience.do(ctx, limit, func(ctx context.Context) (any, error) { return do(ctx, c) })
	}
}

// wanted is what a request says of a file. An environment that is no text is taken as one.
func wanted(c *channel.Command, env string) (path, saltenv string) {
	path, _ = c.Load.Text("path")
	if c.Load.Has("saltenv") {
		env = data.Str(c.Load.Value("saltenv"))
	}
	return path, env
}

// failed tells the log of an error once in a while, and returns what the minion gets.
func (f *files) failed(c *channel.Command, err error, reply any) (any, error) {
	if errors.Is(err, fileserver.ErrNotFound) {
		return reply, nil
	}
	if more, ok := f.quiet.Allow(c.Name + " " + c.Caller.ID); ok {
		f.log.WithError(err).Warnf("%s of minion %s (%d more since the last warning)", c.Name, c.Caller.ID, more)
	}
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
		return f.failed(c, fmt.Errorf("%w: loc is no number", fileserver.ErrRequest), nil)
	}
	if r.Gzip, ok = gzipLevel(c.Load.Value("gzip")); !ok {
		return f.failed(c, fmt.Errorf("%w: gzip is no level of compression", fileserver.ErrRequest), nil)
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

// list answers requests for lists.
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

// backendNames reads names of backends: a list, or a text with commas.
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

// receive answers _file_recv: it takes a piece of a file.
func (f *files) receive(_ context.Context, c *channel.Command) (any, error) {
	cfg := f.settings.now()
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

// options answers what a minion asks of the master's configuration (salt/master.py, AESFuncs._master_opts).
type options struct {
	settings *settings
	files    *fileserver.Server
}

// optionNames are the options that minions may know.
var optionNames = []string{
	"renderer", "failhard", "state_top", "state_top_saltenv", "nodegroups", "state_auto_order", "state_events",
	"state_aggregate", "jinja_env", "jinja_sls_env", "jinja_lstrip_blocks", "jinja_trim_blocks",
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
	copyFields(reply, o.settings.all(), "top_file_merging_strategy", "env_order", "default_top")
	if only, _ := c.Load.Bool("env_only"); !only {
		copyFields(reply, o.settings.all(), optionNames...)
	}
	return reply, nil
}

// openFileServer makes the file server. With fileserver_verify_config off, one without backends will do.
func (m *Master) openFileServer(ctx context.Context, p *parts) error {
	o, err := p.served(ctx)
	if err != nil && data.Truth(p.settings.all().Value("fileserver_verify_config")) {
		return err
	}
	if err != nil {
		p.o.Log.WithError(err).Error("the file server cannot serve all that is configured")
	}
	p.files = fileserver.New(o)
	m.closers = append(m.closers, p.files.Close)
	return nil
}

// served is what the file server is to serve by the options of now.
func (p *parts) served(ctx context.Context) (fileserver.Options, error) {
	cfg := p.settings.now()
	o := fileserver.Options{HashType: cfg.HashType, BufferSize: cfg.FileBufferSize, Log: p.o.Log}
	makers := fileserver.Makers{roots.Name: roots.Make, minionfs.Name: minionfs.Make}
	maps.Copy(makers, p.o.Backends)
	var err error
	if o.Backends, err = fileserver.Build(p.settings.all(), makers, p.o.Log); err != nil {
		return o, err
	}
	for _, b := range o.Backends {
		if b, ok := b.(fileserver.Initer); ok {
			err = errors.Join(err, b.Init(ctx))
		}
	}
	return o, err
}

// renewFiles puts options of the file server in force.
func (m *Master) renewFiles(old *config.Master) {
	p := m.parts
	if data.Equal(fileOptions(old.Map()), fileOptions(p.settings.all())) {
		return
	}
	was := p.fileTasks()
	o, err := p.served(context.Background())
	if err == nil {
		err = p.files.SetOptions(o)
	}
	now := p.fileTasks()
	for _, t := range was { // sources with another interval have a task of another name
		if !slices.ContainsFunc(now, func(n schedule.Task) bool { return n.Name == t.Name }) {
			m.schedule.Remove(t.Name)
		}
	}
	for _, t := range now {
		err = errors.Join(err, m.schedule.Add(t))
	}
	if err != nil {
		m.log.WithError(err).Error("the file server does not follow all of the new configuration")
	}
}

// fileOptions are those that a file server is made of. Each backend has its name in front of its own.
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

// usualUpdate is how often a backend is updated when its option says 0 or nothing (salt.config.DEFAULT_INTERVAL).
const usualUpdate = time.Minute

// fileTasks update the backends, each by itself and as often as the option NAME_update_interval says, or as each of its
// sources wants (salt/master.py, FileserverUpdate).
func (p *parts) fileTasks() []schedule.Task {
	tasks := []schedule.Task{{Name: "__fileserver", Every: time.Minute, Do: func(context.Context) error {
		p.files.Sweep(time.Minute)
		return nil
	}}}
	for _, b := range p.files.Backends() {
		name := b.Name()
		if r, ok := b.(fileserver.RemoteUpdater); ok {
			tasks = append(tasks, p.remoteTasks(name, r)...)
			continue
		}
		tasks = append(tasks, schedule.Task{Name: "__fileserver_" + name, Every: seconds(p.settings.all().Value(name + "_update_interval")), RunOnStart: true,
			Do: func(ctx context.Context) error { return p.files.Update(ctx, p.announceFiles, name) }})
	}
	return tasks
}

// remoteTasks update the sources of a backend, those with the same interval together.
func (p *parts) remoteTasks(name string, r fileserver.RemoteUpdater) []schedule.Task {
	same := map[time.Duration][]string{}
	for remote, every := range r.Intervals() {
		if every < time.Second {
			every = usualUpdate
		}
		same[every] = append(same[every], remote)
	}
	var tasks []schedule.Task
	for every, remotes := range same {
		tasks = append(tasks, schedule.Task{Name: fmt.Sprintf("__fileserver_%s_%s", name, every), Every: every, RunOnStart: true,
			Do: func(ctx context.Context) error {
				c, err := r.UpdateRemotes(ctx, remotes)
				if err == nil {
					p.announceFiles(name, c)
				}
				return err
			}})
	}
	return tasks
}

func seconds(v any) time.Duration {
	n, _ := v.(int64)
	if n <= 0 || n > 1e9 {
		return usualUpdate
	}
	return time.Duration(n) * time.Second
}

// announceFiles fires what an update found, for fileserver_events.
func (p *parts) announceFiles(backend string, c fileserver.Change) {
	if !data.Truth(p.settings.all().Value("fileserver_events")) {
		return
	}
	if err := p.bus.Fire(eventbus.Tagify("fileserver", backend, "update"), c.Event(backend)); err != nil {
		p.o.Log.WithError(err).Error("announce an update of the file server")
	}
}
