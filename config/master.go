package config

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
)

// A Master holds the options of a master that Brine reads. The tag names Salt's option and, after a comma, the unit of
// its number where the field is a time.
type Master struct {
	ConfFile string `yaml:"conf_file"` // the main file, whether or not it exists
	ID       string `yaml:"id"`        // id, or a guess with _master behind it

	// Network.
	Interface             string        `yaml:"interface"` // address to listen on
	IPv6                  bool          `yaml:"ipv6"`
	PublishPort           int           `yaml:"publish_port" min:"1" max:"65535"`
	RetPort               int           `yaml:"ret_port" min:"1" max:"65535"`
	Transport             string        `yaml:"transport" oneof:"zeromq tcp"`
	IPCMode               string        `yaml:"ipc_mode" oneof:"ipc tcp"`
	TCPKeepalive          bool          `yaml:"tcp_keepalive"`
	TCPKeepaliveIdle      int           `yaml:"tcp_keepalive_idle"`  // seconds; -1 is the system's
	TCPKeepaliveCnt       int           `yaml:"tcp_keepalive_cnt"`   // -1 is the system's
	TCPKeepaliveIntvl     int           `yaml:"tcp_keepalive_intvl"` // seconds; -1 is the system's
	ZMQFiltering          bool          `yaml:"zmq_filtering"`
	ZMQBacklog            int           `yaml:"zmq_backlog" min:"0"`
	ZMQMonitor            bool          `yaml:"zmq_monitor"`
	PubHWM                int           `yaml:"pub_hwm" min:"0"`
	WorkerThreads         int           `yaml:"worker_threads" min:"1" max:"4096"`
	RequestServerTTL      time.Duration `yaml:"request_server_ttl,s" min:"0" live:"yes"` // 0 is for ever
	RequestChannelTimeout time.Duration `yaml:"request_channel_timeout,s" min:"1"`
	RequestChannelTries   int           `yaml:"request_channel_tries" min:"1"`

	// Paths; RootDir stands before all of them already.
	RootDir  string `yaml:"root_dir"`
	PKIDir   string `yaml:"pki_dir" needed:"yes"`
	CacheDir string `yaml:"cachedir" needed:"yes"`
	SockDir  string `yaml:"sock_dir" needed:"yes"`
	PidFile  string `yaml:"pidfile"`
	TokenDir string `yaml:"token_dir"`
	User     string `yaml:"user"`

	// ConfigReloadInterval is how often the files are looked at for changes; 0 is never.
	ConfigReloadInterval time.Duration `yaml:"config_reload_interval,s" min:"0" live:"yes"`

	// LocalCacheHours is how many hours jobs and returns also lie in CACHEDIR/jobs, where programs of Salt look for them;
	// 0 is not at all, and less is 24 where Salt is installed on this host.
	LocalCacheHours int `yaml:"local_cache_hours" min:"-1"`

	// MetricsAddress is the host:port at which monitoring systems are answered; "" is none. See package metrics.
	MetricsAddress     string `yaml:"metrics_address"`
	MetricsCertificate string `yaml:"metrics_certificate"` // file in PEM; "" is no TLS
	MetricsKey         string `yaml:"metrics_key"`
	MetricsMinionLabel bool   `yaml:"metrics_minion_label"` // counters of functions tell minions apart

	// Log.
	LogFile           string    `yaml:"log_file" live:"yes"`
	LogLevel          string    `yaml:"log_level" oneof:"all garbage trace debug profile info warning error critical quiet" case:"lower" live:"yes"`
	LogLevelLogfile   string    `yaml:"log_level_logfile" none:"''" oneof:"all garbage trace debug profile info warning error critical quiet" case:"lower" live:"yes"` // "" is LogLevel
	LogFmtConsole     string    `yaml:"log_fmt_console" live:"yes"`
	LogFmtLogfile     string    `yaml:"log_fmt_logfile" live:"yes"`
	LogDatefmt        string    `yaml:"log_datefmt" live:"yes"`
	LogDatefmtLogfile string    `yaml:"log_datefmt_logfile" live:"yes"`
	LogGranularLevels *data.Map `yaml:"log_granular_levels" live:"yes"`
	KeyLogFile        string    `yaml:"key_logfile"`

	// Keys and sign-in.
	KeySize                   int           `yaml:"keysize" min:"2048" max:"16384"`
	HashType                  string        `yaml:"hash_type" oneof:"md5 sha1 sha224 sha256 sha384 sha512 blake2b blake2s sha3_224 sha3_256 sha3_384 sha3_512" live:"yes"`
	KeyPass                   string        `yaml:"key_pass"`
	SigningKeyPass            string        `yaml:"signing_key_pass"`
	AuthMode                  int           `yaml:"auth_mode"`
	AuthEvents                bool          `yaml:"auth_events"`
	OpenMode                  bool          `yaml:"open_mode" live:"yes"`
	AutoAccept                bool          `yaml:"auto_accept" live:"yes"`
	AutosignFile              string        `yaml:"autosign_file" live:"yes"`
	AutorejectFile            string        `yaml:"autoreject_file" live:"yes"`
	AutosignGrainsDir         string        `yaml:"autosign_grains_dir" live:"yes"`
	AutosignTimeout           time.Duration `yaml:"autosign_timeout,m" min:"0" live:"yes"`
	PermissivePKIAccess       bool          `yaml:"permissive_pki_access"`
	MaxMinions                int           `yaml:"max_minions" min:"0" live:"yes"`       // 0 is no limit
	MaxPendingKeysPerAddress  int           `yaml:"max_pending_keys_per_address" min:"0"` // Brine's own: 0 is no limit
	MinimumAuthVersion        int           `yaml:"minimum_auth_version" min:"0" max:"3" live:"yes"`
	PublishSession            time.Duration `yaml:"publish_session,s" min:"0" live:"yes"`
	RotateAESKey              bool          `yaml:"rotate_aes_key"`
	PingOnRotate              bool          `yaml:"ping_on_rotate" live:"yes"`
	MasterSignPubkey          bool          `yaml:"master_sign_pubkey"`
	MasterSignKeyName         string        `yaml:"master_sign_key_name"`
	MasterUsePubkeySignature  bool          `yaml:"master_use_pubkey_signature"`
	MasterPubkeySignature     string        `yaml:"master_pubkey_signature"`
	SignPubMessages           bool          `yaml:"sign_pub_messages"`
	PublishSigningAlgorithm   string        `yaml:"publish_signing_algorithm" oneof:"PKCS1v15-SHA1 PKCS1v15-SHA224"`
	RequireMinionSignMessages bool          `yaml:"require_minion_sign_messages" live:"yes"`
	DropMessagesSignatureFail bool          `yaml:"drop_messages_signature_fail" live:"yes"`
	AllowMinionKeyRevoke      bool          `yaml:"allow_minion_key_revoke" live:"yes"`
	KeyCache                  string        `yaml:"key_cache"`

	// Jobs.
	Timeout          time.Duration `yaml:"timeout,s" min:"0" live:"yes"`
	GatherJobTimeout time.Duration `yaml:"gather_job_timeout,s" min:"0" live:"yes"`
	// KeepJobsSeconds is how long jobs are kept; keep_jobs, in hours, speaks when only that is set.
	KeepJobsSeconds       time.Duration `yaml:"keep_jobs_seconds,s" min:"0" live:"yes"`
	JobCache              bool          `yaml:"job_cache"`
	JobAcks               bool          `yaml:"job_acks"` // Brine's own: minions of ours tell when they have taken a job
	ExtJobCache           string        `yaml:"ext_job_cache"`
	MasterJobCache        string        `yaml:"master_job_cache"`
	JobCacheStoreEndtime  bool          `yaml:"job_cache_store_endtime"`
	MinionDataCache       bool          `yaml:"minion_data_cache" live:"yes"`
	MinionDataCacheEvents bool          `yaml:"minion_data_cache_events" live:"yes"`
	EnforceMineCache      bool          `yaml:"enforce_mine_cache" live:"yes"`
	Cache                 string        `yaml:"cache"`
	UniqueJID             bool          `yaml:"unique_jid"`
	LoopInterval          time.Duration `yaml:"loop_interval,s" min:"1"`
	MaintenanceInterval   time.Duration `yaml:"maintenance_interval,s" min:"1"`
	OrderMasters          bool          `yaml:"order_masters"`
	SyndicMaster          any           `yaml:"syndic_master"` // text or list
	SyndicWait            time.Duration `yaml:"syndic_wait,s"`
	Nodegroups            *data.Map     `yaml:"nodegroups" live:"yes"`
	RangeServer           string        `yaml:"range_server" live:"yes"`
	MaxOpenFiles          int           `yaml:"max_open_files"`

	// Schedule holds jobs by name, and settings for all of them.
	Schedule *data.Map `yaml:"schedule" live:"yes"`
	// ExtProcesses are programs that run as long as the master: command lines, or maps with name, command, env and cwd.
	ExtProcesses any `yaml:"ext_processes"`

	// Events.
	EventMatchType       string        `yaml:"event_match_type" oneof:"startswith endswith find regex fnmatch"`
	EventReturn          []string      `yaml:"event_return" split:","`
	EventReturnQueue     int           `yaml:"event_return_queue" min:"0"`
	EventReturnWhitelist []string      `yaml:"event_return_whitelist"`
	EventReturnBlacklist []string      `yaml:"event_return_blacklist"`
	Reactor              any           `yaml:"reactor" live:"yes"` // list of tag globs and files
	ReactorWorkerThreads int           `yaml:"reactor_worker_threads" min:"1" max:"10000"`
	ReactorWorkerHWM     int           `yaml:"reactor_worker_hwm" min:"1"` // events that wait
	Engines              any           `yaml:"engines"`                    // list of names, or of maps with options
	MaxEventSize         int           `yaml:"max_event_size" min:"1"`     // bytes
	IPCWriteBuffer       int           `yaml:"ipc_write_buffer" min:"0"`   // bytes; 0 is the system's
	PresenceEvents       bool          `yaml:"presence_events" live:"yes"`
	MasterStats          bool          `yaml:"master_stats"`
	MasterStatsEventIter time.Duration `yaml:"master_stats_event_iter,s" min:"0"`

	// Who may do what.
	ClientACLVerify         bool          `yaml:"client_acl_verify" live:"yes"`
	PublisherACL            *data.Map     `yaml:"publisher_acl" live:"yes"`
	PublisherACLBlacklist   *data.Map     `yaml:"publisher_acl_blacklist" live:"yes"`
	ExternalAuth            *data.Map     `yaml:"external_auth" live:"yes"`
	SudoACL                 bool          `yaml:"sudo_acl" live:"yes"`
	PermissiveACL           bool          `yaml:"permissive_acl" live:"yes"`
	TokenExpire             time.Duration `yaml:"token_expire,s" min:"0" live:"yes"`
	TokenExpireUserOverride any           `yaml:"token_expire_user_override" live:"yes"`
	KeepACLInToken          bool          `yaml:"keep_acl_in_token" live:"yes"`
	EauthTokens             string        `yaml:"eauth_tokens"`
	Peer                    *data.Map     `yaml:"peer" live:"yes"`
	PeerRun                 *data.Map     `yaml:"peer_run" live:"yes"`
	MineGet                 *data.Map     `yaml:"mine_get" live:"yes"`

	// Files.
	FileRoots       *data.Map `yaml:"file_roots" live:"yes"`   // environment → list of directories
	PillarRoots     *data.Map `yaml:"pillar_roots" live:"yes"` // environment → list of directories
	FileRecv        bool      `yaml:"file_recv" live:"yes"`
	FileRecvMaxSize int       `yaml:"file_recv_max_size" min:"0" live:"yes"` // MB
	FileBufferSize  int       `yaml:"file_buffer_size" min:"1" live:"yes"`   // bytes

	opts   *data.Map // all options
	loaded *Master   // as it was loaded, to tell what code changed

	schedules map[string]*data.Map

	namesCache bool // master_job_cache is written down
}

// DefaultMaster returns the options of a master that has no configuration, with the paths of /etc/salt and no ID.
func DefaultMaster() *Master {
	m := &Master{opts: known().defaults(masterRole)}
	m.fill(&Report{})
	return m
}

// LoadMaster reads DIR/master, or the file that SALT_MASTER_CONFIG names, and what it includes. An empty dir is
// that of SALT_CONFIG_DIR, or DefaultDir. env looks up the environment; nil has none. The error joins the *Error of
// every fault found; the report is there all the same.
func LoadMaster(dir string, env func(string) string) (*Master, *Report, error) {
	return loadMaster(dir, env, localHost())
}

// LoadClient is LoadMaster for programs that give orders to the master on this host. They must start at once and need
// no ID: where it is not set it is guessed without name servers.
func LoadClient(dir string, env func(string) string) (*Master, *Report, error) {
	h := localHost()
	h.full = func(_ context.Context, name string) string { return name }
	return loadMaster(dir, env, h)
}

func loadMaster(dir string, env func(string) string, h host) (*Master, *Report, error) {
	opts, set, report, err := load(masterRole, dir, env, h)
	m := &Master{opts: opts, schedules: report.schedules()}
	faults := append(m.fill(report), m.samePorts(report)...)
	m.keepJobs(set)
	m.namesCache = set.Has("master_job_cache")
	if err := errors.Join(err, errors.Join(faults...)); err != nil {
		return nil, report, err
	}
	return m, report, nil
}

// samePorts tells that both ports are one.
func (m *Master) samePorts(r *Report) []error {
	if m.PublishPort != m.RetPort {
		return nil
	}
	name := "ret_port"
	if _, ok := r.Sources[name]; !ok {
		name = "publish_port"
	}
	at := r.Sources[name]
	return []error{&Error{File: at.File, Line: at.Line, Option: name, Text: fmt.Sprintf("publish_port and ret_port are both %d", m.RetPort),
		Suggestion: "a master needs two ports, such as 4505 and 4506"}}
}

// JobCacheName returns the name of the job cache: that of master_job_cache, or jobstore where that option is not set. Salt's
// default for it, local_cache, counts only when it is written down.
func (m *Master) JobCacheName() string {
	if m.MasterJobCache == "" || m.MasterJobCache == "local_cache" && !m.namesCache {
		return "jobstore"
	}
	return m.MasterJobCache
}

func (m *Master) fill(r *Report) []error {
	faults := decode(m, m.opts, r)
	loaded := *m
	m.loaded = &loaded
	return faults
}

// keepJobs lets the old option, in hours, speak where the new one is not set (salt.utils.job.get_keep_jobs_seconds).
func (m *Master) keepJobs(set *data.Map) {
	hours, ok := toInt(set.Value("keep_jobs"))
	if ok && hours >= 0 && hours < 1e6 && m.KeepJobsSeconds == 24*time.Hour {
		m.KeepJobsSeconds = time.Duration(hours) * time.Hour
		m.loaded.KeepJobsSeconds = m.KeepJobsSeconds
	}
}

// Map returns all options in Salt's form, with what code has set in the fields of m; the caller owns it.
func (m *Master) Map() *data.Map {
	loaded := m.loaded
	if loaded == nil {
		loaded = &Master{}
	}
	return mapOf(m.opts, m, loaded)
}
