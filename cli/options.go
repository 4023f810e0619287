package cli

import "time"

// Common holds the options of every program.
type Common struct {
	Saltfile     string `opt:"saltfile"`
	ConfigDir    string `opt:"config_dir"` // absolute
	LogLevel     string `opt:"log_level"`  // "" unless given: the configuration decides
	LogFile      string `opt:"log_file"`   // likewise
	LogFileLevel string `opt:"log_level_logfile"`
}

// OutputOptions control how results are printed.
type OutputOptions struct {
	Output string `opt:"output"`
	// nil unless given; see HasOutputIndent of Line for a configured null
	OutputIndent any    `opt:"output_indent"`
	OutputFile   string `opt:"output_file"`
	OutputAppend bool   `opt:"output_file_append"`
	NoColor      bool   `opt:"no_color"`
	ForceColor   bool   `opt:"force_color"`
	StateOutput  string `opt:"state_output"`
	StateVerbose any    `opt:"state_verbose"` // nil, true, false or other text
}

// TargetOptions control how the target is interpreted.
type TargetOptions struct {
	ListHosts    bool   `opt:"list_hosts"`
	PCRE         bool   `opt:"pcre"`
	List         bool   `opt:"list"`
	Grain        bool   `opt:"grain"`
	GrainPCRE    bool   `opt:"grain_pcre"`
	Nodegroup    bool   `opt:"nodegroup"`
	Range        bool   `opt:"range"`
	Compound     bool   `opt:"compound"`
	PillarTarget bool   `opt:"pillar_target"`
	PillarPCRE   bool   `opt:"pillar_pcre"`
	IPCIDR       bool   `opt:"ipcidr"`
	Delimiter    string `opt:"delimiter"`
}

// AuthOptions are those of external authentication.
type AuthOptions struct {
	EAuth     string `opt:"eauth"`
	MakeToken bool   `opt:"mktoken"`
	Username  string `opt:"username"`
	Password  string `opt:"password"`
}

// ProfilingOptions are accepted for compatibility with scripts and have no effect.
type ProfilingOptions struct {
	ProfilingPath    string `opt:"profiling_path"`
	ProfilingEnabled bool   `opt:"profiling_enabled"`
}

// DaemonOptions are those of a daemon.
type DaemonOptions struct {
	User    string `opt:"user"`
	Daemon  bool   `opt:"daemon"`
	PIDFile string `opt:"pidfile"`
	// CheckConfig prints the effective options instead of starting.
	CheckConfig bool `opt:"check_config"`
}

// SaltOptions is the command line of salt.
type SaltOptions struct {
	*Line
	Common
	OutputOptions
	TargetOptions
	AuthOptions
	ModuleExecutors string   `opt:"module_executors"`
	ExecutorOpts    string   `opt:"executor_opts"`
	Timeout         int64    `opt:"timeout"` // seconds
	HardCrash       bool     `opt:"hard_crash"`
	NoParse         []string `opt:"no_parse"`
	Static          bool     `opt:"static"`
	Progress        bool     `opt:"progress"`
	Failhard        bool     `opt:"failhard"`
	Async           bool     `opt:"async"`
	Subset          int64    `opt:"subset"`
	Verbose         bool     `opt:"verbose"`
	ShowTimeout     bool     `opt:"show_timeout"`
	ShowJID         bool     `opt:"show_jid"`
	Batch           string   `opt:"batch"`
	BatchWait       float64  `opt:"batch_wait"` // seconds
	BatchSafeLimit  int64    `opt:"batch_safe_limit"`
	BatchSafeSize   string   `opt:"batch_safe_size"`
	Return          string   `opt:"return"`
	ReturnConfig    string   `opt:"return_config"`
	ReturnKwargs    any      `opt:"return_kwargs"` // text, or an empty map when not given
	Doc             bool     `opt:"doc"`
	ArgsSeparator   string   `opt:"args_separator"`
	Summary         bool     `opt:"cli_summary"`
	Metadata        string   `opt:"metadata"`
	StateOutputDiff bool     `opt:"state_output_diff"`
	ConfigDump      bool     `opt:"config_dump"`
	PreviewTarget   bool     `opt:"preview_target"`
	Queue           string   `opt:"queue"` // "yes", or a duration

	QueueFor   time.Duration // the duration in Queue; 0 leaves it to the master
	Target     any           // a string, or []any of strings with --list
	TargetKind string        // glob, pcre, list, grain, ..., as sent to the master
	Calls      []Call        // one, or those of a compound command: see Multi
	Multi      bool          // the function was a list with commas, even of one name
}

// A Call is one function of a command line with its unparsed arguments.
type Call struct {
	Fun  string
	Args []string
}

// KeyOptions is the command line of salt-key.
type KeyOptions struct {
	*Line
	Common
	OutputOptions
	AuthOptions
	KeyLogFile      string `opt:"key_logfile"`
	User            string `opt:"user"`
	HardCrash       bool   `opt:"hard_crash"`
	Quiet           bool   `opt:"quiet"`
	Yes             bool   `opt:"yes"`
	RotateAESKey    any    `opt:"rotate_aes_key"`   // true, false or other text
	PreserveMinions any    `opt:"preserve_minions"` // likewise
	List            string `opt:"list"`             // begins with acc, pre, un, rej, den or all
	ListAll         bool   `opt:"list_all"`
	Accept          string `opt:"accept"`
	AcceptAll       bool   `opt:"accept_all"`
	Reject          string `opt:"reject"`
	RejectAll       bool   `opt:"reject_all"`
	IncludeAll      bool   `opt:"include_all"`
	IncludeAccepted bool   `opt:"include_accepted"`
	IncludeRejected bool   `opt:"include_rejected"`
	IncludeDenied   bool   `opt:"include_denied"`
	Print           string `opt:"print"`
	PrintAll        bool   `opt:"print_all"`
	Delete          string `opt:"delete"`
	DeleteAll       bool   `opt:"delete_all"`
	Finger          string `opt:"finger"`
	FingerAll       bool   `opt:"finger_all"`
	GenKeys         string `opt:"gen_keys"`
	GenKeysDir      string `opt:"gen_keys_dir"`
	KeySize         int64  `opt:"keysize"` // bits, 2048 to 32768
	GenSignature    bool   `opt:"gen_signature"`
	Priv            string `opt:"priv"`
	SignaturePath   string `opt:"signature_path"`
	Pub             string `opt:"pub"`
	AutoCreate      bool   `opt:"auto_create"`
	// "yes", or the number of days in which minions may follow
	RotateMasterKey string `opt:"rotate_master_key"`
}

// CallOptions is the command line of salt-call.
type CallOptions struct {
	*Line
	Common
	OutputOptions
	ProfilingOptions
	ProxyID            string   `opt:"proxyid"`
	ModuleExecutors    string   `opt:"module_executors"`
	ExecutorOpts       string   `opt:"executor_opts"`
	CacheDir           string   `opt:"cachedir"`
	HardCrash          bool     `opt:"hard_crash"`
	NoParse            []string `opt:"no_parse"`
	GrainsRun          bool     `opt:"grains_run"`
	ModuleDirs         []string `opt:"module_dirs"` // absolute
	Doc                bool     `opt:"doc"`
	Master             string   `opt:"master"`
	Return             string   `opt:"return"`
	Local              bool     `opt:"local"`
	FileRoot           string   `opt:"file_root"`
	PillarRoot         string   `opt:"pillar_root"`
	StatesDir          string   `opt:"states_dir"`
	RetcodePassthrough bool     `opt:"retcode_passthrough"`
	PrintMetadata      bool     `opt:"print_metadata"`
	Metadata           string   `opt:"metadata"`
	ID                 string   `opt:"id"`
	SkipGrains         bool     `opt:"skip_grains"`
	RefreshGrainsCache bool     `opt:"refresh_grains_cache"`
	NoReturnEvent      bool     `opt:"no_return_event"`
	AuthTimeout        int64    `opt:"auth_timeout"` // seconds
	StateOutputDiff    bool     `opt:"state_output_diff"`

	Call Call // Fun is "" with --grains, and may be with --doc
}

// RunOptions is the command line of salt-run.
type RunOptions struct {
	*Line
	Common
	OutputOptions
	AuthOptions
	ProfilingOptions
	Timeout    int64    `opt:"timeout"` // seconds
	JID        string   `opt:"jid"`
	HardCrash  bool     `opt:"hard_crash"`
	NoParse    []string `opt:"no_parse"`
	Doc        bool     `opt:"doc"`
	Async      bool     `opt:"async"`
	SkipGrains bool     `opt:"skip_grains"`
	Quiet      bool     `opt:"quiet"`

	Call Call // Fun is "" if none was named
}

// CpOptions is the command line of salt-cp.
type CpOptions struct {
	*Line
	Common
	OutputOptions
	TargetOptions
	Timeout   int64 `opt:"timeout"` // seconds
	HardCrash bool  `opt:"hard_crash"`
	Chunked   bool  `opt:"chunked"`
	Gzip      bool  `opt:"gzip"`

	Target     any // as in SaltOptions
	TargetKind string
	Sources    []string
	Dest       string
}

// MasterOptions is the command line of salt-master.
type MasterOptions struct {
	*Line
	Common
	DaemonOptions
}

// MinionOptions is the command line of salt-minion.
type MinionOptions struct {
	*Line
	Common
	DaemonOptions
}

// APIOptions is the command line of salt-api. The master's option user says as whom it runs.
type APIOptions struct {
	*Line
	Common
	DaemonOptions
	APILogFile string `opt:"api_logfile"`
	Console    bool   `opt:"console"`
}

// SyndicOptions is the command line of salt-syndic.
type SyndicOptions struct {
	*Line
	Common
	DaemonOptions
	SyndicLogFile string `opt:"syndic_log_file"`
}
