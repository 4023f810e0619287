package saltmaster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/logging"
)

// judge reads a configuration as the program does, and returns its faults and warnings, with DIR
// for its directory.
func judge(t *testing.T, conf string) (faults, warnings string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{o: &cli.MasterOptions{}}
	p.o.ConfigDir = dir
	p.in.Env = func(string) string { return "" }
	_, report, err := p.load()
	if err != nil {
		faults = strings.ReplaceAll(err.Error(), dir, "DIR")
	}
	return faults, strings.ReplaceAll(strings.Join(report.Warnings, "\n"), dir, "DIR")
}

// Unknown names of plug-ins, and options of the wrong form, that keep a master from starting.
func TestFaultsOfTheConfiguration(t *testing.T) {
	for name, tt := range map[string]struct{ conf, want string }{
		"a job cache": {"timeout: 5\nmaster_job_cache: mysq\n",
			"DIR/master:2: master_job_cache: there is no returner 'mysq', which this option needs; is mysql meant? There are jobstore, local_cache, mysql, "},
		"a job cache of Salt's": {"master_job_cache: mongo\n",
			"DIR/master:1: master_job_cache: Salt's returner mongo is not built in, which this option needs; there are jobstore, "},
		"a job cache of minions": {"ext_job_cache: smtp\n",
			"DIR/master:1: ext_job_cache: there is no returner 'smtp', which this option needs"},
		"a place for events": {"event_return: redis\n",
			"DIR/master:1: event_return: the returner redis accepts job returns but no events, as in Salt; there are "},
		"a log for events": {"event_return: syslog\n",
			"DIR/master:1: event_return: the returner syslog accepts job returns but no events, as in Salt; there are "},
		"a place of Salt's for events": {"event_return: couchdb\n",
			"A program can take all events: see the engine program, and ext_processes"},
		"one of several": {"event_return:\n  - smtp\n  - kafka\n  - postgre\n",
			"DIR/master:4: event_return: entry 3: there is no returner 'postgre', which this option needs; is postgres meant?"},
		"no backend that there is": {"fileserver_backend:\n  - rotos\n",
			"DIR/master:2: fileserver_backend: entry 1: there is no backend of the file server 'rotos'; is roots meant? There are gitfs, minionfs, roots"},
		"an address without a port": {"metrics_address: 127.0.0.1\n",
			`DIR/master:1: metrics_address: expected an address with a port, got the text "127.0.0.1"; write HOST:PORT, such as 127.0.0.1:9175`},
		"an address with a wrong port": {"metrics_address: ':99999'\n",
			`DIR/master:1: metrics_address: "99999" is not a port; write HOST:PORT`},
		"a transport": {"transport_opts:\n  tcp:\n    ret_port: 0\n",
			"DIR/master:2: transport_opts: tcp: ret_port: 0 is not a port"},
		"rights that are no list": {"publisher_acl:\n  ann:\n    - .*\n  bob:\n    test.ping: [x]\n",
			"DIR/master:4: publisher_acl: bob: expected a list of functions, got a mapping of 1; begin each function or target with a dash: - test.ping, or - 'web*': [test.ping]"},
		"rights that are none": {"publisher_acl:\n  bob:\n",
			"DIR/master:2: publisher_acl: bob: expected a list of functions, got nothing; write a list: - test.ping"},
		"two targets in one": {"external_auth:\n  pam:\n    bob:\n      - web*: [test.ping]\n        db*: [test.ping]\n",
			"DIR/master:4: external_auth: pam: bob: entry 1: expected one name and what is allowed there, got a mapping of 2; begin each name with a dash"},
		"a function in a target": {"external_auth:\n  pam:\n    bob:\n      - web*:\n        - test.ping\n        - 5\n",
			"DIR/master:6: external_auth: pam: bob: entry 1: web*: entry 2: expected a function, or a function with conditions, got the number 5"},
		"a condition": {"external_auth:\n  pam:\n    bob:\n      - web*:\n        - test.echo: [a.*]\n",
			`external_auth: pam: bob: entry 1: web*: entry 1: test.echo: entry 1: expected a mapping of args and kwargs, got the text "a.*"`},
		"users that are none": {"external_auth:\n  pam: [bob]\n",
			"DIR/master:2: external_auth: pam: expected a mapping of users to what they may do, got a list of 1"},
		"a list of the blacklist": {"publisher_acl_blacklist:\n  module:\n    - cmd\n",
			"DIR/master:2: publisher_acl_blacklist: module: there is no list 'module'; is modules meant? There are modules, users"},
		"names in the blacklist": {"publisher_acl_blacklist:\n  users: 5\n",
			"DIR/master:2: publisher_acl_blacklist: users: expected a list of names, got the number 5; write users: ['cmd.*']"},
		"peer": {"peer:\n  web1: 5\n",
			"DIR/master:2: peer: web1: expected a list of functions, got the number 5"},
		"peer_run": {"peer_run:\n  web1: [[a]]\n",
			"peer_run: web1: entry 1: expected a function, or a target with its functions, got a list of 1"},
		"an engine that is no name": {"engines:\n  - script:\n    cmd: /bin/true\n",
			"DIR/master:2: engines: entry 1: expected a name, or one name with options, got a mapping of 2; write - NAME, or - NAME: with its options indented below it"},
		"an option of an engine": {"engines:\n  - script:\n      cmdline: /bin/true\n",
			"DIR/master:2: engines: entry 1: script: option cmdline is unknown"},
		"an external pillar": {"ext_pillar:\n  - cmd_yaml: echo\n  - cmd_yml: echo\n",
			"DIR/master:3: ext_pillar: entry 2: there is no external pillar 'cmd_yml'; is cmd_yaml meant? There are "},
		"a pillar of Salt's": {"ext_pillar:\n  - pepa: x\n",
			"DIR/master:2: ext_pillar: entry 1: Salt's external pillar pepa is not built in; there are "},
		"what to do for it": {"ext_pillar:\n  - makostack: x\n",
			". Use one of them (cmd_json and cmd_yaml take what a program prints, in any language), or remove the entry"},
		"pillars that are none": {"ext_pillar:\n  - cmd_yaml\n",
			`DIR/master:2: ext_pillar: entry 1: expected the name of an external pillar with its arguments, got the text "cmd_yaml"; write - NAME: ARGUMENTS`},
		"pillars that are no list": {"ext_pillar:\n  cmd_yaml: echo\n", "ext_pillar: expected a list, got "},
		"a renderer": {"renderer: jinja|yml\n",
			"DIR/master:1: renderer: there is no renderer 'yml'; is yaml meant? There are "},
		"a renderer of Salt's": {"renderer: mako|yaml\n",
			"DIR/master:1: renderer: Salt's renderer mako is not built in"},
		"a cache of pillar": {"pillar_cache: true\npillar_cache_backend: dsk\n",
			"DIR/master:2: pillar_cache_backend: there is no backend of pillar_cache 'dsk'; is disk meant?"},
		"a program of master_tops": {"master_tops:\n  ext_nodes: []\n",
			"DIR/master:2: master_tops: ext_nodes: "},
		"roots of pillar": {"pillar_roots: /srv/pillar\n",
			`DIR/master:1: pillar_roots: expected a mapping, got the text "/srv/pillar"`},
		"a program": {"ext_processes:\n  - /bin/true\n  - 5\n",
			"DIR/master:3: ext_processes: entry 2: a command is a text or a list of words, not 5"},
		"a format of the log": {"log_fmt_console: '%(nope)s'\n",
			"DIR/master:1: log_fmt_console: the format \"%(nope)s\" at character 1: an entry has no attribute \"nope\""},
		"a remote": {"gitfs_remotes:\n  - https://host/repo.git\n  - 5\n",
			"DIR/master:3: gitfs_remotes: entry 2: it is neither an address nor"},
	} {
		t.Run(name, func(t *testing.T) {
			if faults, _ := judge(t, tt.conf); !strings.Contains(faults, tt.want) {
				t.Errorf("%s is wrong:\n%s\nwant\n%s", tt.conf, faults, tt.want)
			}
		})
	}
}

// Faults with which Salt and Brine start anyway are warnings.
func TestDoubtsOfTheConfiguration(t *testing.T) {
	for name, tt := range map[string]struct{ conf, want string }{
		"a runner": {"external_auth:\n  pam:\n    '%ops': [.*, '@runer']\n",
			"DIR/master:3: external_auth: pam: %ops: entry 2: there is no '@runer'; is '@runner' meant?"},
		"a module alone": {"external_auth:\n  pam:\n    ann: [test, '@jobs']\n",
			"DIR/master:3: external_auth: pam: ann: entry 1: matches no function; a function has its module in its name: " +
				"write 'test.*' for all functions of a module"},
		"a system": {"external_auth:\n  PAM:\n    bob: [test.ping]\n",
			"DIR/master:2: external_auth: PAM: there " +
				"is no authentication system 'PAM', nobody can log in there; is pam meant? There are file, " +
				"ldap, oidc, pam"},
		"a system of Salt's": {"external_auth:\n  keystone:\n    bob: [test.ping]\n",
			"DIR/master:2: external_auth: keystone: " +
				"Salt's authentication system keystone is not built in, nobody can log in there; there are " +
				"file, ldap, oidc, pam, rest, sharedsecret. Use one of them (rest asks a web service of yours), " +
				"or remove the entry"},
		"a system that cannot be": {"external_auth:\n  file:\n    bob: [test.ping]\n",
			"DIR/master:2: external_auth: file: nobody can log in there: "},
		"a text for a list": {"publisher_acl:\n  bob: test.ping\n",
			`DIR/master:2: publisher_acl: bob: expected a list of functions, got the text "test.ping", which is taken as a list of one`},
		"a mapping for a list": {"publisher_acl:\n  bob:\n    test.ping:\n",
			"DIR/master:2: publisher_acl: bob: " +
				"expected a list of functions, got a mapping of 1, whose names are taken as the list; " +
				"begin each function with a dash: - test.ping"},
		"an expression": {"publisher_acl:\n  bob:\n    - test.ping\n    - '('\n",
			"DIR/master:4: publisher_acl: bob: entry 2: '(' is no regular expression that can be used, and allows nothing"},
		"a backend": {"fileserver_backend: [roots, svn]\n",
			"DIR/master:1: fileserver_backend: entry 2: Salt's backend of the file server svnfs is not built in"},
		"git without a remote": {"fileserver_backend: [git, roots]\n",
			"DIR/master:1: fileserver_backend: entry 1: gitfs has no repository to serve; set gitfs_remotes"},
		"a file of users": {"external_auth:\n  file: {^filename: /nothere/users, bob: ['.*']}\n",
			"DIR/master:2: external_auth: file: nobody can log in there: ^filename: stat /nothere/users: no such file"},
		"TLS of zeromq": {"ssl: True\n",
			"DIR/master:1: ssl: TLS not supported with zeromq transport; set transport: tcp"},
		"an engine": {"engines:\n  - scrip\n",
			"DIR/master:2: engines: entry 1: there is no engine 'scrip'; is script meant? There are docker_events, fluent, http_logstash, kafka, logstash, logstash_engine, mqtt, nats, program, redis, redis_sentinel, script, stalekey, test, thorium, webhook"},
		"a rule of the reactor": {"reactor:\n  - a: [x.sls]\n  - 'b': 5\n",
			"DIR/master:3: reactor: entry 2: b: expected a file or a list of files, got the number 5; write - 'salt/minion/*/start': [/srv/"},
		"a file of the reactor": {"reactor:\n  - a: [salt://x.sls]\n  - 'b': [/nothere/x.sls]\n",
			"DIR/master:3: reactor: entry 2: b: entry 1: there is no file /nothere/x.sls"},
		"a folder of files": {"file_roots:\n  base:\n    - /\n    - /nothere/srv\n",
			"DIR/master:4: file_roots: base: entry 2: the directory /nothere/srv does not exist; create it"},
		"a folder of pillar": {"pillar_roots:\n  base: [/nothere/srv]\n",
			"DIR/master:2: pillar_roots: base: entry 1: the directory /nothere/srv does not exist"},
		"a file for a folder": {"file_roots:\n  base: [/dev/null]\n",
			"DIR/master:2: file_roots: base: entry 1: /dev/null is not a directory"},
		"a node group": {"nodegroups:\n  web: 'web* and ('\n  db: 5\n",
			"DIR/master:3: nodegroups: db: expected a compound target or a list, got the number 5; write db: "},
		"a demand": {"on_demand_ext_pillar: [libvirt, cmd_jsn]\n",
			"DIR/master:1: on_demand_ext_pillar: entry 2: there is no external pillar 'cmd_jsn'; is cmd_json meant?"},
		"a strategy": {"pillar_source_merging_strategy: recurs\n",
			"DIR/master:1: pillar_source_merging_strategy: there is no strategy of merging 'recurs'; is recurse meant?"},
		"a system of master_tops": {"master_tops:\n  ext_node: x\n",
			"DIR/master:2: master_tops: ext_node: there is no system of master_tops 'ext_node'; is ext_nodes meant?"},
		"circular node groups": {"nodegroups:\n  web: 'L@a or N@db'\n  db: N@web or b\n",
			"DIR/master:2: nodegroups: web: circular node groups: web names db names web"},
		"a node group's target": {"nodegroups:\n  web: 'E@('\n", "DIR/master:2: nodegroups: web: "},
		"an option of a remote": {"gitfs_remotes:\n  - https://host/repo.git:\n    - rot: x\n",
			"gitfs_remotes: entry 1: there is no option of a remote 'rot'; is root meant?"},
		"a key of a job": {"schedule:\n  a:\n    function: test.arg\n    secons: 5\n    minutes: 1\n", "DIR/master:4: schedule: a: secons: a job has no such key, which is passed over; is seconds meant?"},
		"a job without a time": {"schedule:\n  a:\n    function: test.arg\n",
			"DIR/master:2: schedule: a: no time is given, so that the job never runs; write one of seconds, "},
		"a job without function": {"schedule:\n  a:\n    seconds: 5\n",
			"DIR/master:2: schedule: a: no function is given; write function: test.ping"},
		"a function of a job": {"schedule:\n  a:\n    seconds: 5\n    function: test.agr\n",
			"DIR/master:4: schedule: a: function: there is no function test.agr here"},
		"an interval": {"schedule:\n  a:\n    seconds: five\n    function: test.arg\n",
			"DIR/master:2: schedule: a: Invalid seconds five. Ignoring job a."},
		"a job that is none": {"schedule:\n  a: test.arg\n",
			"DIR/master:2: schedule: a: expected a mapping, the job, got the text "},
		"what is not there": {"timeout: 5\ncluster_id: x\n",
			"DIR/master:2: cluster_id: has no effect: Salt's masters share a directory; " +
				"those of Brine share NATS JetStream, see the option cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			faults, warnings := judge(t, tt.conf)
			if faults != "" || !strings.Contains(warnings, tt.want) {
				t.Errorf("%s is odd:\n%s\nand wrong:\n%s\nwant\n%s", tt.conf, warnings, faults, tt.want)
			}
		})
	}
}

// A valid configuration gives no message.
func TestValidConfigurations(t *testing.T) {
	for _, conf := range []string{"",
		"transport_opts: {tcp: {publish_port: 4605, ret_port: 4606}, zeromq: []}\npeer: {foo.example.com: {'db*': [test.*, pkg.*]}}\n",
		"master_job_cache: local_cache\nevent_return: [mysql, '']\nfileserver_backend: [git, roots]\ngitfs_remotes: [https://host/repo.git]\n",
		"publisher_acl:\n  bob:\n    - test.ping\n    - 'web*':\n        - test.*\n        - test.echo:\n            - args: ['a.*']\n              kwargs: {x: 1}\n    - '@jobs'\n    - '@runner': [jobs.*]\n",
		"external_auth:\n  pam:\n    'admins%': ['.*']\npublisher_acl_blacklist: {users: root, modules: [cmd]}\npeer: {'.*': [.*]}\n",
		"engines:\n  - reactor\n  - script: {cmd: /bin/true, interval: 3}\nreactor:\n  - 'a/*': salt://a.sls\nnodegroups: {web: 'L@a,b or G@os:x', db: [a, b], all: N@web}\n",
		"schedule:\n  enabled: true\n  a: {function: jobs.active, seconds: 3, splay: 2, run_on_start: true}\n  b: {function: my.own, run_on_start: true}\n"} {
		faults, warnings := judge(t, conf)
		if strings.HasSuffix(conf, "b: {function: my.own, run_on_start: true}\n") {
			if faults != "" || !strings.Contains(warnings,
				"schedule: b: function: there is no function my.own here") {
				t.Errorf("a function of a module that is not there: %s%s", faults, warnings)
			}
			continue
		}
		if faults+warnings != "" {
			t.Errorf("%s is wrong: %s\nodd: %s", conf, faults, warnings)
		}
	}
}

// A start that the option cluster keeps from succeeding says where, and what is wrong.
func TestAStartNamesTheSubOptionOfTheCluster(t *testing.T) {
	dir := t.TempDir()
	conf := "interface: 127.0.0.1\nroot_dir: " + dir + "\ncluster:\n  servers: [\"nats://127.0.0.1:1\"]\n" +
		"  key: " + dir + "/cluster.key\n"
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	in := cli.Invocation{Args: []string{"-c", dir}, Env: func(string) string { return "" }}
	o, err := cli.ParseMaster(in)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProgram(in, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.daemon.Folders {
		if err := os.MkdirAll(f.Path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log, err := logging.New(logging.Settings{}, logging.Options{Console: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_, err = p.start(t.Context(), log, func() error { return nil })
	want := dir + "/master:5: cluster: key: there is no cluster key in " + dir + "/cluster.key; copy it from another member"
	if err == nil || !strings.HasPrefix(p.daemon.Report.Locate(err).Error(), want) {
		t.Errorf("got  %v\nwant %s", p.daemon.Report.Locate(err), want)
	}
}

// --check-config reads the files of the cluster.
func TestTheFilesOfTheClusterAreChecked(t *testing.T) {
	dir := t.TempDir()
	conf := "interface: 127.0.0.1\nuser: " + os.Getenv("USER") + "\nroot_dir: " + dir + "\ncluster:\n  servers: [\"nats://127.0.0.1:1\"]\n" +
		"  replicas: 2\n  tls:\n    ca: " + dir + "/ca.pem\n  key: " + dir + "/cluster.key\n"
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{o: &cli.MasterOptions{}}
	p.o.ConfigDir = dir
	p.in.Env = func(string) string { return "" }
	cfg, report, err := p.load()
	if err != nil || strings.Count(strings.Join(report.Warnings, "\n"), "2 replicas survive") != 1 {
		t.Fatalf("load: %v, warnings %q", err, report.Warnings)
	}
	err = probe(t.Context(), cfg, report)
	for _, want := range []string{
		dir + "/master:8: cluster: tls: ca: there is no file " + dir + "/ca.pem",
		dir + "/master:9: cluster: key: there is no cluster key in " + dir + "/cluster.key; copy it from another member",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	if err == nil || strings.Contains(err.Error(), "replicas") {
		t.Errorf("the doubt about replicas is told again: %v", err)
	}
}
