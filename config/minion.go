package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

// A Minion holds the options of a minion that Brine reads. The tag names Salt's option and, after a comma, the unit of
// its number where the field is a time.
type Minion struct {
	ConfFile string `yaml:"conf_file"` // the main file, whether or not it exists

	// Identity.
	ID                string `yaml:"id"` // resolved; see LoadMinion
	MinionIDCaching   bool   `yaml:"minion_id_caching"`
	MinionIDLowercase bool   `yaml:"minion_id_lowercase"`
	AppendDomain      string `yaml:"append_domain"`
	User              string `yaml:"user"`

	// ConfigReloadInterval is how often the files are looked at for changes; 0 is never.
	ConfigReloadInterval time.Duration `yaml:"config_reload_interval,s" min:"0" live:"yes"`

	// Masters.
	Master                 []string      `yaml:"master"` // addresses, or the one function of master_type func
	MasterPort             int           `yaml:"master_port" min:"1" max:"65535"`
	MasterType             string        `yaml:"master_type" oneof:"str failover func disable distributed"` // str, failover, func, disable, distributed
	MasterURIFormat        string        `yaml:"master_uri_format" oneof:"default ip_only"`
	MasterShuffle          bool          `yaml:"master_shuffle"`
	RandomMaster           bool          `yaml:"random_master"`
	MasterAliveInterval    time.Duration `yaml:"master_alive_interval,s" min:"0"`
	MasterFailback         bool          `yaml:"master_failback"`
	MasterFailbackInterval time.Duration `yaml:"master_failback_interval,s" min:"0"`
	MasterTries            int           `yaml:"master_tries" min:"-1" live:"yes"`  // -1 is for ever
	PublishPort            int           `yaml:"publish_port" min:"0" max:"65535"`  // 0: what the master says when it lets the minion in
	RetryDNS               time.Duration `yaml:"retry_dns,s" min:"0"`               // 0 gives up at once
	RetryDNSCount          int           `yaml:"retry_dns_count" none:"-1" min:"0"` // -1, Salt's None, is for ever
	IPv6                   bool          `yaml:"ipv6"`
	Transport              string        `yaml:"transport" oneof:"zeromq tcp"`
	IPCMode                string        `yaml:"ipc_mode" oneof:"ipc tcp"`
	SourceInterfaceName    string        `yaml:"source_interface_name"`
	SourceAddress          string        `yaml:"source_address"`
	SourceRetPort          int           `yaml:"source_ret_port" min:"0" max:"65535"`     // 0 is any
	SourcePublishPort      int           `yaml:"source_publish_port" min:"0" max:"65535"` // 0: what the master says when it lets the minion in // 0 is any
	TCPKeepalive           bool          `yaml:"tcp_keepalive"`
	TCPKeepaliveIdle       int           `yaml:"tcp_keepalive_idle"`  // seconds; -1 is the system's
	TCPKeepaliveCnt        int           `yaml:"tcp_keepalive_cnt"`   // -1 is the system's
	TCPKeepaliveIntvl      int           `yaml:"tcp_keepalive_intvl"` // seconds; -1 is the system's
	ReconDefault           time.Duration `yaml:"recon_default,ms" min:"0"`
	ReconMax               time.Duration `yaml:"recon_max,ms" min:"0"`
	ReconRandomize         bool          `yaml:"recon_randomize"`
	ZMQFiltering           bool          `yaml:"zmq_filtering"`
	ZMQMonitor             bool          `yaml:"zmq_monitor"`
	RequestChannelTimeout  time.Duration `yaml:"request_channel_timeout,s" min:"1"`
	RequestChannelTries    int           `yaml:"request_channel_tries" min:"1"`

	// Paths; RootDir stands before all of them already.
	RootDir          string `yaml:"root_dir"`
	PKIDir           string `yaml:"pki_dir" needed:"yes"`
	CacheDir         string `yaml:"cachedir" needed:"yes"`
	SockDir          string `yaml:"sock_dir" needed:"yes"`
	PidFile          string `yaml:"pidfile"`
	ExtensionModules string `yaml:"extension_modules" live:"yes"` // directory of what saltutil.sync_all and its like fetch

	// Log.
	LogFile           string    `yaml:"log_file" live:"yes"`
	LogLevel          string    `yaml:"log_level" oneof:"all garbage trace debug profile info warning error critical quiet" case:"lower" live:"yes"`
	LogLevelLogfile   string    `yaml:"log_level_logfile" none:"''" oneof:"all garbage trace debug profile info warning error critical quiet" case:"lower" live:"yes"` // "" is LogLevel
	LogFmtConsole     string    `yaml:"log_fmt_console" live:"yes"`
	LogFmtLogfile     string    `yaml:"log_fmt_logfile" live:"yes"`
	LogDatefmt        string    `yaml:"log_datefmt" live:"yes"`
	LogDatefmtLogfile string    `yaml:"log_datefmt_logfile" live:"yes"`
	LogGranularLevels *data.Map `yaml:"log_granular_levels" live:"yes"`

	// Keys and sign-in.
	KeySize                int           `yaml:"keysize" min:"2048" max:"16384"`
	HashType               string        `yaml:"hash_type" oneof:"md5 sha1 sha224 sha256 sha384 sha512 blake2b blake2s sha3_224 sha3_256 sha3_384 sha3_512"`
	AuthTimeout            time.Duration `yaml:"auth_timeout,s" min:"0"`
	AuthTries              int           `yaml:"auth_tries" min:"0"`
	AuthSafemode           bool          `yaml:"auth_safemode"`
	AcceptanceWaitTime     time.Duration `yaml:"acceptance_wait_time,s" min:"0" live:"yes"`
	AcceptanceWaitTimeMax  time.Duration `yaml:"acceptance_wait_time_max,s" min:"0" live:"yes"`
	RejectedRetry          bool          `yaml:"rejected_retry" live:"yes"`
	RandomReauthDelay      time.Duration `yaml:"random_reauth_delay,s" min:"0" live:"yes"`
	RandomStartupDelay     time.Duration `yaml:"random_startup_delay,s" min:"0"`
	OpenMode               bool          `yaml:"open_mode"`
	PermissivePKIAccess    bool          `yaml:"permissive_pki_access"`
	MasterFinger           string        `yaml:"master_finger"`
	VerifyMasterPubkeySign bool          `yaml:"verify_master_pubkey_sign"`
	AlwaysVerifySignature  bool          `yaml:"always_verify_signature"`
	MasterSignKeyName      string        `yaml:"master_sign_key_name"`
	SignPubMessages        bool          `yaml:"sign_pub_messages"`
	MinionSignMessages     bool          `yaml:"minion_sign_messages"`
	MinimumAuthVersion     int           `yaml:"minimum_auth_version" min:"0" max:"3"` // of the master; below 2 it need not sign
	EncryptionAlgorithm    string        `yaml:"encryption_algorithm" oneof:"OAEP-SHA1 OAEP-SHA224"`
	SigningAlgorithm       string        `yaml:"signing_algorithm" oneof:"PKCS1v15-SHA1 PKCS1v15-SHA224"`
	AutosignGrains         []string      `yaml:"autosign_grains" live:"yes"`

	// Grains, pillar, mine.
	Grains                    *data.Map     `yaml:"grains" live:"yes"`
	GrainsCache               bool          `yaml:"grains_cache"`
	GrainsCacheExpiration     time.Duration `yaml:"grains_cache_expiration,s" min:"0"`
	GrainsRefreshEvery        time.Duration `yaml:"grains_refresh_every,m" min:"0"`
	GrainsBlacklist           []string      `yaml:"grains_blacklist"`
	GrainsDeepMerge           bool          `yaml:"grains_deep_merge"`
	StartEventGrains          []string      `yaml:"start_event_grains" live:"yes"`
	EnableLegacyStartupEvents bool          `yaml:"enable_legacy_startup_events" live:"yes"`
	MineEnabled               bool          `yaml:"mine_enabled"`
	MineInterval              time.Duration `yaml:"mine_interval,m" min:"0"`
	MineReturnJob             bool          `yaml:"mine_return_job"`
	MineFunctions             *data.Map     `yaml:"mine_functions"`
	SaltEnv                   string        `yaml:"saltenv" live:"yes"`
	PillarEnv                 string        `yaml:"pillarenv" live:"yes"`

	FileRoots   *data.Map `yaml:"file_roots" live:"yes"`   // environment → list of directories, for file_client local
	PillarRoots *data.Map `yaml:"pillar_roots" live:"yes"` // environment → list of directories, for file_client local
	FileClient  string    `yaml:"file_client" oneof:"remote local"`

	// Schedule holds jobs by name, and settings for all of them.
	Schedule               *data.Map `yaml:"schedule" live:"yes"`
	SchedulerBeforeConnect bool      `yaml:"scheduler_before_connect"`

	// Jobs.
	Multiprocessing     bool          `yaml:"multiprocessing"`
	ProcessCountMax     int           `yaml:"process_count_max" min:"-1"` // -1 is no limit
	MinionJIDQueueHWM   int           `yaml:"minion_jid_queue_hwm" min:"0"`
	ReturnRetryTimer    time.Duration `yaml:"return_retry_timer,s" min:"0"`
	ReturnRetryTimerMax time.Duration `yaml:"return_retry_timer_max,s" min:"0"`
	ReturnRetryTries    int           `yaml:"return_retry_tries" min:"0"`
	Return              []string      `yaml:"return" split:"," live:"yes"`
	CacheJobs           bool          `yaml:"cache_jobs" live:"yes"`
	PubRet              bool          `yaml:"pub_ret" live:"yes"`
	ExtJobCache         string        `yaml:"ext_job_cache"`
	PingInterval        time.Duration `yaml:"ping_interval,m" min:"0" live:"yes"`
	LoopInterval        time.Duration `yaml:"loop_interval,s"`
	StartupStates       string        `yaml:"startup_states" oneof:"highstate sls top" none:"''"`
	SLSList             []string      `yaml:"sls_list"`
	TopFile             string        `yaml:"top_file"`
	CmdSafe             bool          `yaml:"cmd_safe"`
	DisableModules      []string      `yaml:"disable_modules"`
	DisableReturners    []string      `yaml:"disable_returners"`
	WhitelistModules    []string      `yaml:"whitelist_modules"`

	// Events.
	EventMatchType string `yaml:"event_match_type" oneof:"startswith endswith find regex fnmatch"`
	MaxEventSize   int    `yaml:"max_event_size" min:"1"`   // bytes
	IPCWriteBuffer int    `yaml:"ipc_write_buffer" min:"0"` // bytes; 0 is the system's

	opts         *data.Map // all options
	loaded       *Minion   // as it was loaded, to tell what code changed
	schedules    map[string]*data.Map
	idConfigured bool
	guessedID    string // without append_domain
}

// DefaultMinion returns the options of a minion that has no configuration, with the paths of /etc/salt and no ID.
func DefaultMinion() *Minion {
	m := &Minion{opts: known().defaults(minionRole)}
	m.fill(&Report{})
	return m
}

// LoadMinion reads DIR/minion, or the file that SALT_MINION_CONFIG names, and what it includes. An empty dir is
// that of SALT_CONFIG_DIR, or DefaultDir. env looks up the environment; nil has none. The error joins the *Error of
// every fault found; the report is there all the same.
//
// The ID is the option id; else what the file minion_id holds, below root_dir in the system's directory for
// configuration; else a guess from the names and addresses of this host, for which name servers are asked for at most
// ten seconds. An id_function is not called here: see IDFunction.
func LoadMinion(dir string, env func(string) string) (*Minion, *Report, error) {
	return loadMinion(dir, env, localHost())
}

func loadMinion(dir string, env func(string) string, h host) (*Minion, *Report, error) {
	opts, set, report, err := load(minionRole, dir, env, h)
	m := &Minion{opts: opts, idConfigured: textOf(set.Value("id")) != "", schedules: report.schedules()}
	faults := m.fill(report)
	m.guessedID = strings.TrimSuffix(m.ID, "."+m.AppendDomain)
	if validID(m.ID) != nil {
		at := report.Sources["id"]
		faults = append(faults, &Error{File: at.File, Line: at.Line, Option: "id",
			Text: fmt.Sprintf("%q cannot be an id: %v", m.ID, errID)})
	}
	if err := errors.Join(err, errors.Join(faults...)); err != nil {
		return nil, report, err
	}
	return m, report, nil
}

func (m *Minion) fill(r *Report) []error {
	faults := decode(m, m.opts, r)
	loaded := *m
	m.loaded = &loaded
	return faults
}

// Map returns all options in Salt's form, with what code has set in the fields of m; the caller owns it.
func (m *Minion) Map() *data.Map {
	loaded := m.loaded
	if loaded == nil {
		loaded = &Minion{}
	}
	return mapOf(m.opts, m, loaded)
}
