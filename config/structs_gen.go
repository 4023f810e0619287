// Code generated from options.yaml by go generate. DO NOT EDIT.

package config

import (
	"time"

	"github.com/brineproject/brine/data"
)

// MasterIdentity holds the options of a master in the group identity.
type MasterIdentity struct {
	// The file of the configuration, whether or not it exists.
	ConfFile string `yaml:"conf_file"`
	// Seconds between looks for changed files of the configuration; 0 never looks.
	ConfigReloadInterval time.Duration `yaml:"config_reload_interval"`
	// Name of the daemon; a minion guesses it from its host names.
	ID string `yaml:"id"`
	// Open files that the master asks the system for.
	MaxOpenFiles int `yaml:"max_open_files"`
	// User that the daemon runs as.
	User string `yaml:"user"`
}

// MinionIdentity holds the options of a minion in the group identity.
type MinionIdentity struct {
	// Domain that is put behind a guessed id.
	AppendDomain string `yaml:"append_domain"`
	// The file of the configuration, whether or not it exists.
	ConfFile string `yaml:"conf_file"`
	// Seconds between looks for changed files of the configuration; 0 never looks.
	ConfigReloadInterval time.Duration `yaml:"config_reload_interval"`
	// Name of the daemon; a minion guesses it from its host names.
	ID string `yaml:"id"`
	// Whether a guessed id is kept in the file minion_id.
	MinionIDCaching bool `yaml:"minion_id_caching"`
	// Whether a guessed id is made lower case.
	MinionIDLowercase bool `yaml:"minion_id_lowercase"`
	// User that the daemon runs as.
	User string `yaml:"user"`
}

// MasterNetwork holds the options of a master in the group network.
type MasterNetwork struct {
	// Address at which the master listens.
	Interface string `yaml:"interface"`
	// How programs on this host reach the daemon: ipc for sockets in files, or tcp.
	IPCMode string `yaml:"ipc_mode"`
	// Whether addresses of IPv6 are used.
	IPv6 bool `yaml:"ipv6"`
	// How many messages wait for a slow minion before new ones are dropped.
	PubHWM int `yaml:"pub_hwm"`
	// Port at which minions subscribe to jobs; 0 at a minion is what the master says.
	PublishPort int `yaml:"publish_port"`
	// Seconds to wait for the answer to a request.
	RequestChannelTimeout time.Duration `yaml:"request_channel_timeout"`
	// How often a request is sent before it fails.
	RequestChannelTries int `yaml:"request_channel_tries"`
	// Seconds for which a signed request counts; 0 is for ever.
	RequestServerTTL time.Duration `yaml:"request_server_ttl"`
	// Port at which the master takes requests.
	RetPort int `yaml:"ret_port"`
	// Whether connections are kept alive by TCP.
	TCPKeepalive bool `yaml:"tcp_keepalive"`
	// Probes that may stay without answer before a connection is closed; -1 is the system's.
	TCPKeepaliveCnt int `yaml:"tcp_keepalive_cnt"`
	// Seconds of silence before the first probe; -1 is the system's.
	TCPKeepaliveIdle int `yaml:"tcp_keepalive_idle"`
	// Seconds between probes; -1 is the system's.
	TCPKeepaliveIntvl int `yaml:"tcp_keepalive_intvl"`
	// Protocol between master and minions: zeromq or tcp.
	Transport string `yaml:"transport"`
	// How many requests the master works on at once.
	WorkerThreads int `yaml:"worker_threads"`
	// Connections that may wait to be taken.
	ZMQBacklog int `yaml:"zmq_backlog"`
	// Whether a publication goes only to the minions that it names.
	ZMQFiltering bool `yaml:"zmq_filtering"`
	// Whether the log tells what libzmq sees of connections.
	ZMQMonitor bool `yaml:"zmq_monitor"`
}

// MinionNetwork holds the options of a minion in the group network.
type MinionNetwork struct {
	// How programs on this host reach the daemon: ipc for sockets in files, or tcp.
	IPCMode string `yaml:"ipc_mode"`
	// Whether addresses of IPv6 are used.
	IPv6 bool `yaml:"ipv6"`
	// Addresses of the masters, or the function that gives them.
	Master []string `yaml:"master"`
	// Seconds between looks whether the master still answers.
	MasterAliveInterval time.Duration `yaml:"master_alive_interval"`
	// Whether a minion goes back to its first master.
	MasterFailback bool `yaml:"master_failback"`
	// Seconds between tries to go back to the first master.
	MasterFailbackInterval time.Duration `yaml:"master_failback_interval"`
	// Port of requests at the master.
	MasterPort int `yaml:"master_port"`
	// Whether the list of masters is shuffled.
	MasterShuffle bool `yaml:"master_shuffle"`
	// How often a minion tries its masters; -1 is for ever.
	MasterTries int `yaml:"master_tries"`
	// What master means: str, failover, func, disable or distributed.
	MasterType string `yaml:"master_type"`
	// Form of an address in master: default or ip_only.
	MasterURIFormat string `yaml:"master_uri_format"`
	// Port at which minions subscribe to jobs; 0 at a minion is what the master says.
	PublishPort int `yaml:"publish_port"`
	// Whether the minion takes its masters in random order.
	RandomMaster bool `yaml:"random_master"`
	// Milliseconds before the first new try to connect.
	ReconDefault time.Duration `yaml:"recon_default"`
	// Most milliseconds between tries to connect.
	ReconMax time.Duration `yaml:"recon_max"`
	// Whether the first wait before a new try is random.
	ReconRandomize bool `yaml:"recon_randomize"`
	// Seconds to wait for the answer to a request.
	RequestChannelTimeout time.Duration `yaml:"request_channel_timeout"`
	// How often a request is sent before it fails.
	RequestChannelTries int `yaml:"request_channel_tries"`
	// Seconds before a master's name is looked up again; 0 gives up at once.
	RetryDNS time.Duration `yaml:"retry_dns"`
	// How often a master's name is looked up; none is for ever.
	RetryDNSCount int `yaml:"retry_dns_count"`
	// Address of this host from which masters are reached.
	SourceAddress string `yaml:"source_address"`
	// Interface of this host from which masters are reached.
	SourceInterfaceName string `yaml:"source_interface_name"`
	// Port of this host from which publications are taken; 0 is any.
	SourcePublishPort int `yaml:"source_publish_port"`
	// Port of this host from which requests are sent; 0 is any.
	SourceRetPort int `yaml:"source_ret_port"`
	// Whether connections are kept alive by TCP.
	TCPKeepalive bool `yaml:"tcp_keepalive"`
	// Probes that may stay without answer before a connection is closed; -1 is the system's.
	TCPKeepaliveCnt int `yaml:"tcp_keepalive_cnt"`
	// Seconds of silence before the first probe; -1 is the system's.
	TCPKeepaliveIdle int `yaml:"tcp_keepalive_idle"`
	// Seconds between probes; -1 is the system's.
	TCPKeepaliveIntvl int `yaml:"tcp_keepalive_intvl"`
	// Protocol between master and minions: zeromq or tcp.
	Transport string `yaml:"transport"`
	// Whether a publication goes only to the minions that it names.
	ZMQFiltering bool `yaml:"zmq_filtering"`
	// Whether the log tells what libzmq sees of connections.
	ZMQMonitor bool `yaml:"zmq_monitor"`
}

// MasterPaths holds the options of a master in the group paths.
type MasterPaths struct {
	// Directory of what can be made anew: jobs, files, grains.
	CacheDir string `yaml:"cachedir"`
	// File that holds the id of the daemon's process.
	PidFile string `yaml:"pidfile"`
	// Directory of keys.
	PKIDir string `yaml:"pki_dir"`
	// Directory that is put before all paths.
	RootDir string `yaml:"root_dir"`
	// Directory of the sockets of the daemon.
	SockDir string `yaml:"sock_dir"`
	// Directory of the tokens of users.
	TokenDir string `yaml:"token_dir"`
}

// MinionPaths holds the options of a minion in the group paths.
type MinionPaths struct {
	// Directory of what can be made anew: jobs, files, grains.
	CacheDir string `yaml:"cachedir"`
	// Directory of code that is synced from the master.
	ExtensionModules string `yaml:"extension_modules"`
	// File that holds the id of the daemon's process.
	PidFile string `yaml:"pidfile"`
	// Directory of keys.
	PKIDir string `yaml:"pki_dir"`
	// Directory that is put before all paths.
	RootDir string `yaml:"root_dir"`
	// Directory of the sockets of the daemon.
	SockDir string `yaml:"sock_dir"`
}

// Log holds the options of both roles in the group log.
type Log struct {
	// Form of times in the log on the console.
	LogDatefmt string `yaml:"log_datefmt"`
	// Form of times in the log file.
	LogDatefmtLogfile string `yaml:"log_datefmt_logfile"`
	// Log file, or address of a syslog.
	LogFile string `yaml:"log_file"`
	// Form of lines of the log on the console.
	LogFmtConsole string `yaml:"log_fmt_console"`
	// Form of lines of the log file.
	LogFmtLogfile string `yaml:"log_fmt_logfile"`
	// Levels of the log by name of what logs.
	LogGranularLevels *data.Map `yaml:"log_granular_levels"`
	// Level of the log on the console.
	LogLevel string `yaml:"log_level"`
	// Level of the log file; that of log_level where it is not set.
	LogLevelLogfile string `yaml:"log_level_logfile"`
}

// MasterKeys holds the options of a master in the group keys.
type MasterKeys struct {
	// Whether minions may have their own key removed.
	AllowMinionKeyRevoke bool `yaml:"allow_minion_key_revoke"`
	// Whether the event bus tells of sign-ins.
	AuthEvents bool `yaml:"auth_events"`
	// How strictly the identity of minions is checked.
	AuthMode int `yaml:"auth_mode"`
	// Whether the keys of all minions are accepted at once.
	AutoAccept bool `yaml:"auto_accept"`
	// File with patterns of ids whose keys are rejected.
	AutorejectFile string `yaml:"autoreject_file"`
	// File with patterns of ids whose keys are accepted.
	AutosignFile string `yaml:"autosign_file"`
	// Directory with a file for each grain by whose values keys are accepted.
	AutosignGrainsDir string `yaml:"autosign_grains_dir"`
	// Minutes for which a file in the directory minions_autosign counts.
	AutosignTimeout time.Duration `yaml:"autosign_timeout"`
	// Whether messages with a wrong signature are dropped.
	DropMessagesSignatureFail bool `yaml:"drop_messages_signature_fail"`
	// Algorithm of checksums and fingerprints.
	HashType string `yaml:"hash_type"`
	// Whether a list of accepted keys is kept.
	KeyCache string `yaml:"key_cache"`
	// Log file of salt-key.
	KeyLogFile string `yaml:"key_logfile"`
	// Passphrase of the master's key.
	KeyPass string `yaml:"key_pass"`
	// Bits of new RSA keys.
	KeySize int `yaml:"keysize"`
	// File with the signature of the master's key.
	MasterPubkeySignature string `yaml:"master_pubkey_signature"`
	// Name of the key that signs the master's key.
	MasterSignKeyName string `yaml:"master_sign_key_name"`
	// Whether the master signs its key when it answers sign-ins.
	MasterSignPubkey bool `yaml:"master_sign_pubkey"`
	// Whether a signature that was made before is sent with the master's key.
	MasterUsePubkeySignature bool `yaml:"master_use_pubkey_signature"`
	// How many minions the master takes; 0 is any number.
	MaxMinions int `yaml:"max_minions"`
	// Keys that may wait from one address; 0 is any number, Brine's own.
	MaxPendingKeysPerAddress int `yaml:"max_pending_keys_per_address"`
	// Oldest version of the sign-in that is taken, 0 to 3.
	MinimumAuthVersion int `yaml:"minimum_auth_version"`
	// Whether every key is taken, and a changed one too.
	OpenMode bool `yaml:"open_mode"`
	// Whether the group may read the directory of keys.
	PermissivePKIAccess bool `yaml:"permissive_pki_access"`
	// Whether minions are pinged after a change of the session key.
	PingOnRotate bool `yaml:"ping_on_rotate"`
	// Seconds after which the session key changes.
	PublishSession time.Duration `yaml:"publish_session"`
	// How the master signs publications.
	PublishSigningAlgorithm string `yaml:"publish_signing_algorithm"`
	// Whether the master drops messages of minions that are not signed.
	RequireMinionSignMessages bool `yaml:"require_minion_sign_messages"`
	// Whether the session key changes when a key is deleted.
	RotateAESKey bool `yaml:"rotate_aes_key"`
	// Whether publications are signed, and a minion takes none that is not.
	SignPubMessages bool `yaml:"sign_pub_messages"`
	// Passphrase of the key that signs the master's key.
	SigningKeyPass string `yaml:"signing_key_pass"`
}

// MinionKeys holds the options of a minion in the group keys.
type MinionKeys struct {
	// Seconds between sign-ins while the master has not accepted the key.
	AcceptanceWaitTime time.Duration `yaml:"acceptance_wait_time"`
	// Longest wait between sign-ins in seconds, where the wait grows; 0 lets it not grow.
	AcceptanceWaitTimeMax time.Duration `yaml:"acceptance_wait_time_max"`
	// Whether the minion asks for a signature with each sign-in to the master.
	AlwaysVerifySignature bool `yaml:"always_verify_signature"`
	// Whether a minion that cannot sign in goes on with what it has.
	AuthSafemode bool `yaml:"auth_safemode"`
	// Seconds to wait for the master's answer to a sign-in.
	AuthTimeout time.Duration `yaml:"auth_timeout"`
	// How often a sign-in is tried before it fails.
	AuthTries int `yaml:"auth_tries"`
	// Grains that a minion sends with its sign-in, for the master to accept it by.
	AutosignGrains []string `yaml:"autosign_grains"`
	// How a minion encrypts its sign-in.
	EncryptionAlgorithm string `yaml:"encryption_algorithm"`
	// Algorithm of checksums and fingerprints.
	HashType string `yaml:"hash_type"`
	// Bits of new RSA keys.
	KeySize int `yaml:"keysize"`
	// Fingerprint of the key of the master.
	MasterFinger string `yaml:"master_finger"`
	// Name of the key that signs the master's key.
	MasterSignKeyName string `yaml:"master_sign_key_name"`
	// Oldest version of the sign-in that is taken, 0 to 3.
	MinimumAuthVersion int `yaml:"minimum_auth_version"`
	// Whether the minion signs what it sends.
	MinionSignMessages bool `yaml:"minion_sign_messages"`
	// Whether every key is taken, and a changed one too.
	OpenMode bool `yaml:"open_mode"`
	// Whether the group may read the directory of keys.
	PermissivePKIAccess bool `yaml:"permissive_pki_access"`
	// Most seconds that a minion waits at random before it signs in again.
	RandomReauthDelay time.Duration `yaml:"random_reauth_delay"`
	// Most seconds that a minion waits at random before it starts.
	RandomStartupDelay time.Duration `yaml:"random_startup_delay"`
	// Whether a minion whose key is rejected goes on trying.
	RejectedRetry bool `yaml:"rejected_retry"`
	// Whether publications are signed, and a minion takes none that is not.
	SignPubMessages bool `yaml:"sign_pub_messages"`
	// How a minion signs.
	SigningAlgorithm string `yaml:"signing_algorithm"`
	// Whether the minion asks for a signature of the master's key and checks it.
	VerifyMasterPubkeySign bool `yaml:"verify_master_pubkey_sign"`
}

// MasterAccess holds the options of a master in the group access.
type MasterAccess struct {
	// Whether publisher_acl is checked for wrong names at the start.
	ClientACLVerify bool `yaml:"client_acl_verify"`
	// Where tokens of users are kept.
	EauthTokens string `yaml:"eauth_tokens"`
	// Users of each authentication module, and what they may do.
	ExternalAuth *data.Map `yaml:"external_auth"`
	// Whether a token holds what its user may do.
	KeepACLInToken bool `yaml:"keep_acl_in_token"`
	// What minions may read of the mine, by minion.
	MineGet *data.Map `yaml:"mine_get"`
	// Groups of minions by name, each a compound target.
	Nodegroups *data.Map `yaml:"nodegroups"`
	// Functions that minions may have other minions run, by minion.
	Peer *data.Map `yaml:"peer"`
	// Runners that minions may call, by minion.
	PeerRun *data.Map `yaml:"peer_run"`
	// Whether what * may do in external_auth holds for every user.
	PermissiveACL bool `yaml:"permissive_acl"`
	// Functions that users of the master's host may run, by user.
	PublisherACL *data.Map `yaml:"publisher_acl"`
	// Users and functions that are never allowed on the master's host.
	PublisherACLBlacklist *data.Map `yaml:"publisher_acl_blacklist"`
	// Server that answers range targets.
	RangeServer string `yaml:"range_server"`
	// Whether publisher_acl also holds for users who come by sudo.
	SudoACL bool `yaml:"sudo_acl"`
	// Seconds for which a token of a user holds.
	TokenExpire time.Duration `yaml:"token_expire"`
	// Whether users may choose how long their tokens hold.
	TokenExpireUserOverride any `yaml:"token_expire_user_override"`
}

// MasterJobs holds the options of a master in the group jobs.
type MasterJobs struct {
	// Where the master keeps grains, pillar and mine of minions.
	Cache string `yaml:"cache"`
	// Whether the mine is kept where minion_data_cache is off.
	EnforceMineCache bool `yaml:"enforce_mine_cache"`
	// Returner that minions send all returns to.
	ExtJobCache string `yaml:"ext_job_cache"`
	// Seconds to wait when minions are asked whether they still run a job.
	GatherJobTimeout time.Duration `yaml:"gather_job_timeout"`
	// Whether minions tell when they have taken a job; Brine's own.
	JobAcks bool `yaml:"job_acks"`
	// Whether jobs and returns are kept.
	JobCache bool `yaml:"job_cache"`
	// Whether the time at which a job ended is kept.
	JobCacheStoreEndtime bool `yaml:"job_cache_store_endtime"`
	// Seconds for which jobs are kept.
	KeepJobsSeconds time.Duration `yaml:"keep_jobs_seconds"`
	// Hours for which jobs also lie where programs of Salt look; -1 finds out, Brine's own.
	LocalCacheHours int `yaml:"local_cache_hours"`
	// Seconds between the rounds of the daemon's regular work.
	LoopInterval time.Duration `yaml:"loop_interval"`
	// Seconds between rounds of the maintenance process.
	MaintenanceInterval time.Duration `yaml:"maintenance_interval"`
	// Returner in which the master keeps jobs.
	MasterJobCache string `yaml:"master_job_cache"`
	// Whether the master keeps grains and pillar of minions.
	MinionDataCache bool `yaml:"minion_data_cache"`
	// Whether an event tells of refreshed grains and pillar.
	MinionDataCacheEvents bool `yaml:"minion_data_cache_events"`
	// Whether this master gives orders to syndics.
	OrderMasters bool `yaml:"order_masters"`
	// Jobs that run at set times, by name.
	Schedule *data.Map `yaml:"schedule"`
	// Masters of the syndic on this host.
	SyndicMaster any `yaml:"syndic_master"`
	// Seconds that a master waits for the minions of syndics.
	SyndicWait time.Duration `yaml:"syndic_wait"`
	// Seconds that salt waits before it asks who still runs the job.
	Timeout time.Duration `yaml:"timeout"`
	// Whether ids of jobs hold the id of the process.
	UniqueJID bool `yaml:"unique_jid"`
}

// MinionJobs holds the options of a minion in the group jobs.
type MinionJobs struct {
	// Whether the minion keeps the returns of its jobs.
	CacheJobs bool `yaml:"cache_jobs"`
	// Whether a command line runs without a shell unless one is asked for.
	CmdSafe bool `yaml:"cmd_safe"`
	// Execution modules that are not loaded.
	DisableModules []string `yaml:"disable_modules"`
	// Returners that are not loaded.
	DisableReturners []string `yaml:"disable_returners"`
	// Returner that minions send all returns to.
	ExtJobCache string `yaml:"ext_job_cache"`
	// Seconds between the rounds of the daemon's regular work.
	LoopInterval time.Duration `yaml:"loop_interval"`
	// How many ids of jobs a minion remembers to know those that come twice.
	MinionJIDQueueHWM int `yaml:"minion_jid_queue_hwm"`
	// Whether each job has a process of its own.
	Multiprocessing bool `yaml:"multiprocessing"`
	// Minutes between pings of the minion to the master; 0 is never.
	PingInterval time.Duration `yaml:"ping_interval"`
	// How many jobs run at once on a minion; -1 is any number.
	ProcessCountMax int `yaml:"process_count_max"`
	// Whether the minion sends returns to the master.
	PubRet bool `yaml:"pub_ret"`
	// Returners that the minion gives each return to.
	Return []string `yaml:"return"`
	// Seconds before a return is sent again.
	ReturnRetryTimer time.Duration `yaml:"return_retry_timer"`
	// Most seconds before a return is sent again; the wait is random.
	ReturnRetryTimerMax time.Duration `yaml:"return_retry_timer_max"`
	// How often a return is sent.
	ReturnRetryTries int `yaml:"return_retry_tries"`
	// Jobs that run at set times, by name.
	Schedule *data.Map `yaml:"schedule"`
	// Whether scheduled jobs run before the minion has signed in.
	SchedulerBeforeConnect bool `yaml:"scheduler_before_connect"`
	// SLS files that run at the start with startup_states sls.
	SLSList []string `yaml:"sls_list"`
	// What runs at the start of a minion: highstate, sls, top, or nothing.
	StartupStates string `yaml:"startup_states"`
	// Top file that runs at the start with startup_states top.
	TopFile string `yaml:"top_file"`
	// Execution modules that alone are loaded.
	WhitelistModules []string `yaml:"whitelist_modules"`
}

// MasterEvents holds the options of a master in the group events.
type MasterEvents struct {
	// Engines that run beside the daemon, each with its options.
	Engines any `yaml:"engines"`
	// How tags of events are matched where nothing else is said.
	EventMatchType string `yaml:"event_match_type"`
	// Returners that all events are given to.
	EventReturn []string `yaml:"event_return"`
	// Patterns of tags whose events returners are not given.
	EventReturnBlacklist []string `yaml:"event_return_blacklist"`
	// How many events are collected before returners are given them.
	EventReturnQueue int `yaml:"event_return_queue"`
	// Patterns of tags whose events alone returners are given.
	EventReturnWhitelist []string `yaml:"event_return_whitelist"`
	// Programs that run as long as the daemon.
	ExtProcesses any `yaml:"ext_processes"`
	// Bytes of the write buffer of local sockets; 0 leaves it to the system.
	IPCWriteBuffer int `yaml:"ipc_write_buffer"`
	// Whether events tell how the master's workers do.
	MasterStats bool `yaml:"master_stats"`
	// Seconds between events about the master's workers.
	MasterStatsEventIter time.Duration `yaml:"master_stats_event_iter"`
	// Bytes of the largest event.
	MaxEventSize int `yaml:"max_event_size"`
	// Whether events tell which minions come and go.
	PresenceEvents bool `yaml:"presence_events"`
	// SLS files that run on events, by pattern of the tag.
	Reactor any `yaml:"reactor"`
	// How many reactions may wait.
	ReactorWorkerHWM int `yaml:"reactor_worker_hwm"`
	// How many reactions run at once.
	ReactorWorkerThreads int `yaml:"reactor_worker_threads"`
}

// MinionEvents holds the options of a minion in the group events.
type MinionEvents struct {
	// How tags of events are matched where nothing else is said.
	EventMatchType string `yaml:"event_match_type"`
	// Bytes of the write buffer of local sockets; 0 leaves it to the system.
	IPCWriteBuffer int `yaml:"ipc_write_buffer"`
	// Bytes of the largest event.
	MaxEventSize int `yaml:"max_event_size"`
}

// MasterFiles holds the options of a master in the group files.
type MasterFiles struct {
	// Bytes in which files travel at once.
	FileBufferSize int `yaml:"file_buffer_size"`
	// Whether the master takes files of minions (cp.push).
	FileRecv bool `yaml:"file_recv"`
	// Largest file that the master takes from a minion, in megabytes.
	FileRecvMaxSize int `yaml:"file_recv_max_size"`
	// Directories of each environment whose files are served.
	FileRoots *data.Map `yaml:"file_roots"`
	// Directories of each environment with pillar files.
	PillarRoots *data.Map `yaml:"pillar_roots"`
}

// MinionFiles holds the options of a minion in the group files.
type MinionFiles struct {
	// Where the minion gets files from: remote for the master, local for its own file_roots.
	FileClient string `yaml:"file_client"`
	// Directories of each environment whose files are served.
	FileRoots *data.Map `yaml:"file_roots"`
	// Directories of each environment with pillar files.
	PillarRoots *data.Map `yaml:"pillar_roots"`
	// Environment from which pillar is made.
	PillarEnv string `yaml:"pillarenv"`
	// Environment that states come from.
	SaltEnv string `yaml:"saltenv"`
}

// MinionGrains holds the options of a minion in the group grains.
type MinionGrains struct {
	// Whether a minion that starts also sends the event of old versions.
	EnableLegacyStartupEvents bool `yaml:"enable_legacy_startup_events"`
	// Grains that the configuration sets.
	Grains *data.Map `yaml:"grains"`
	// Patterns of grains that are left out.
	GrainsBlacklist []string `yaml:"grains_blacklist"`
	// Whether grains are kept on disk.
	GrainsCache bool `yaml:"grains_cache"`
	// Seconds for which grains on disk count.
	GrainsCacheExpiration time.Duration `yaml:"grains_cache_expiration"`
	// Whether dictionaries of several sources of grains are merged.
	GrainsDeepMerge bool `yaml:"grains_deep_merge"`
	// Minutes between refreshes of grains; 0 is never.
	GrainsRefreshEvery time.Duration `yaml:"grains_refresh_every"`
	// Whether the minion sends its mine.
	MineEnabled bool `yaml:"mine_enabled"`
	// Functions whose results are the mine.
	MineFunctions *data.Map `yaml:"mine_functions"`
	// Minutes between two sendings of the mine.
	MineInterval time.Duration `yaml:"mine_interval"`
	// Whether sending the mine is a job whose return is kept.
	MineReturnJob bool `yaml:"mine_return_job"`
	// Grains that the event of a minion's start carries.
	StartEventGrains []string `yaml:"start_event_grains"`
}

// MasterMetrics holds the options of a master in the group metrics.
type MasterMetrics struct {
	// host:port at which monitoring systems are answered; empty for none, Brine's own.
	MetricsAddress string `yaml:"metrics_address"`
	// Certificate of metrics_address as a PEM file; empty for no TLS, Brine's own.
	MetricsCertificate string `yaml:"metrics_certificate"`
	// Key of metrics_certificate as a PEM file, Brine's own.
	MetricsKey string `yaml:"metrics_key"`
	// Whether counters of functions tell minions apart, Brine's own.
	MetricsMinionLabel bool `yaml:"metrics_minion_label"`
}
