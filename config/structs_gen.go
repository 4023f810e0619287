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
	// Seconds between checks for changed configuration files; 0 turns the checks off.
	ConfigReloadInterval time.Duration `yaml:"config_reload_interval"`
	// Name of the daemon; a minion guesses it from its host names.
	ID string `yaml:"id"`
	// Open files that the operator expects the master to have; the log reports it if the system allows fewer. Raise the limit itself with LimitNOFILE=.
	MaxOpenFiles int `yaml:"max_open_files"`
	// User that the daemon runs as.
	User string `yaml:"user"`
}

// MinionIdentity holds the options of a minion in the group identity.
type MinionIdentity struct {
	// Domain that is appended to a guessed id.
	AppendDomain string `yaml:"append_domain"`
	// The file of the configuration, whether or not it exists.
	ConfFile string `yaml:"conf_file"`
	// Seconds between checks for changed configuration files; 0 turns the checks off.
	ConfigReloadInterval time.Duration `yaml:"config_reload_interval"`
	// Name of the daemon; a minion guesses it from its host names.
	ID string `yaml:"id"`
	// Keep a guessed id in the file minion_id.
	MinionIDCaching bool `yaml:"minion_id_caching"`
	// Make a guessed id lower case.
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
	// Use IPv6 addresses.
	IPv6 bool `yaml:"ipv6"`
	// How many messages are queued for a slow minion before new ones are dropped.
	PubHWM int `yaml:"pub_hwm"`
	// Port at which minions subscribe to jobs; 0 on a minion means the port that the master reports.
	PublishPort int `yaml:"publish_port"`
	// Seconds to wait for the answer to a request.
	RequestChannelTimeout time.Duration `yaml:"request_channel_timeout"`
	// How often a request is sent before it fails.
	RequestChannelTries int `yaml:"request_channel_tries"`
	// Seconds for which a signed request is valid; 0 means no limit.
	RequestServerTTL time.Duration `yaml:"request_server_ttl"`
	// Port at which the master takes requests.
	RetPort int `yaml:"ret_port"`
	// Keep connections alive by TCP.
	TCPKeepalive bool `yaml:"tcp_keepalive"`
	// Unanswered probes after which a connection is closed; -1 means the system's default.
	TCPKeepaliveCnt int `yaml:"tcp_keepalive_cnt"`
	// Seconds of silence before the first probe; -1 means the system's default.
	TCPKeepaliveIdle int `yaml:"tcp_keepalive_idle"`
	// Seconds between probes; -1 means the system's default.
	TCPKeepaliveIntvl int `yaml:"tcp_keepalive_intvl"`
	// Protocol between master and minions: zeromq or tcp.
	Transport string `yaml:"transport"`
	// How many requests the master works on at once.
	WorkerThreads int `yaml:"worker_threads"`
	// Connections that may wait to be taken.
	ZMQBacklog int `yaml:"zmq_backlog"`
	// Send each job only to the minions it targets.
	ZMQFiltering bool `yaml:"zmq_filtering"`
	// Log what libzmq reports about connections.
	ZMQMonitor bool `yaml:"zmq_monitor"`
}

// MinionNetwork holds the options of a minion in the group network.
type MinionNetwork struct {
	// How programs on this host reach the daemon: ipc for sockets in files, or tcp.
	IPCMode string `yaml:"ipc_mode"`
	// Use IPv6 addresses.
	IPv6 bool `yaml:"ipv6"`
	// Addresses of the masters, or the function that returns them.
	Master []string `yaml:"master"`
	// Seconds between checks whether the master still answers.
	MasterAliveInterval time.Duration `yaml:"master_alive_interval"`
	// Return to the first master.
	MasterFailback bool `yaml:"master_failback"`
	// Seconds between tries to go back to the first master.
	MasterFailbackInterval time.Duration `yaml:"master_failback_interval"`
	// Port of requests at the master.
	MasterPort int `yaml:"master_port"`
	// Shuffle the list of masters.
	MasterShuffle bool `yaml:"master_shuffle"`
	// Number of attempts to authenticate after which a minion logs an error and keeps trying; -1 logs none.
	MasterTries int `yaml:"master_tries"`
	// What master means: str, failover, func, disable or distributed.
	MasterType string `yaml:"master_type"`
	// Form of an address in master: default or ip_only.
	MasterURIFormat string `yaml:"master_uri_format"`
	// Port at which minions subscribe to jobs; 0 on a minion means the port that the master reports.
	PublishPort int `yaml:"publish_port"`
	// Try the masters in random order.
	RandomMaster bool `yaml:"random_master"`
	// Milliseconds before the first attempt to reconnect.
	ReconDefault time.Duration `yaml:"recon_default"`
	// Longest wait between attempts to reconnect, in milliseconds.
	ReconMax time.Duration `yaml:"recon_max"`
	// Make the first wait before reconnecting random.
	ReconRandomize bool `yaml:"recon_randomize"`
	// Seconds to wait for the answer to a request.
	RequestChannelTimeout time.Duration `yaml:"request_channel_timeout"`
	// How often a request is sent before it fails.
	RequestChannelTries int `yaml:"request_channel_tries"`
	// Seconds at start before a master's name is looked up again. With 0, and with a failover, a look-up is part of each sign-in.
	RetryDNS time.Duration `yaml:"retry_dns"`
	// How often a master's name is looked up again at start before the minion ends; None is for ever.
	RetryDNSCount int `yaml:"retry_dns_count"`
	// Address of this host from which masters are reached.
	SourceAddress string `yaml:"source_address"`
	// Interface of this host from which masters are reached.
	SourceInterfaceName string `yaml:"source_interface_name"`
	// Local port of the connection to the master's publish port; 0 means any.
	SourcePublishPort int `yaml:"source_publish_port"`
	// Local port of the connection to the master's request port; 0 means any.
	SourceRetPort int `yaml:"source_ret_port"`
	// Keep connections alive by TCP.
	TCPKeepalive bool `yaml:"tcp_keepalive"`
	// Unanswered probes after which a connection is closed; -1 means the system's default.
	TCPKeepaliveCnt int `yaml:"tcp_keepalive_cnt"`
	// Seconds of silence before the first probe; -1 means the system's default.
	TCPKeepaliveIdle int `yaml:"tcp_keepalive_idle"`
	// Seconds between probes; -1 means the system's default.
	TCPKeepaliveIntvl int `yaml:"tcp_keepalive_intvl"`
	// Protocol between master and minions: zeromq or tcp.
	Transport string `yaml:"transport"`
	// Send each job only to the minions it targets.
	ZMQFiltering bool `yaml:"zmq_filtering"`
	// Log what libzmq reports about connections.
	ZMQMonitor bool `yaml:"zmq_monitor"`
}

// MasterPaths holds the options of a master in the group paths.
type MasterPaths struct {
	// Directory for data that the daemon keeps: jobs, tokens, copied files, grains.
	CacheDir string `yaml:"cachedir"`
	// File that holds the id of the daemon's process.
	PidFile string `yaml:"pidfile"`
	// Directory of keys.
	PKIDir string `yaml:"pki_dir"`
	// Directory that is prepended to all paths.
	RootDir string `yaml:"root_dir"`
	// Directory of the sockets of the daemon.
	SockDir string `yaml:"sock_dir"`
	// Directory of the tokens of users.
	TokenDir string `yaml:"token_dir"`
}

// MinionPaths holds the options of a minion in the group paths.
type MinionPaths struct {
	// Directory for data that the daemon keeps: jobs, tokens, copied files, grains.
	CacheDir string `yaml:"cachedir"`
	// Directory of code that is synced from the master.
	ExtensionModules string `yaml:"extension_modules"`
	// File that holds the id of the daemon's process.
	PidFile string `yaml:"pidfile"`
	// Directory of keys.
	PKIDir string `yaml:"pki_dir"`
	// Directory that is prepended to all paths.
	RootDir string `yaml:"root_dir"`
	// Directory of the sockets of the daemon.
	SockDir string `yaml:"sock_dir"`
}

// Log holds the options of both roles in the group log.
type Log struct {
	// Format of times in the log on the console.
	LogDatefmt string `yaml:"log_datefmt"`
	// Format of times in the log file.
	LogDatefmtLogfile string `yaml:"log_datefmt_logfile"`
	// Log file, or address of a syslog.
	LogFile string `yaml:"log_file"`
	// Format of log lines on the console.
	LogFmtConsole string `yaml:"log_fmt_console"`
	// Format of lines in the log file.
	LogFmtLogfile string `yaml:"log_fmt_logfile"`
	// Log levels by logger name.
	LogGranularLevels *data.Map `yaml:"log_granular_levels"`
	// Level of the log on the console.
	LogLevel string `yaml:"log_level"`
	// Level of the log file; if not set, that of log_level.
	LogLevelLogfile string `yaml:"log_level_logfile"`
}

// MasterKeys holds the options of a master in the group keys.
type MasterKeys struct {
	// Let a minion delete its own key on the master.
	AllowMinionKeyRevoke bool `yaml:"allow_minion_key_revoke"`
	// Fire an event for each authentication.
	AuthEvents bool `yaml:"auth_events"`
	// How strictly the identity of minions is checked.
	AuthMode int `yaml:"auth_mode"`
	// Accept the keys of all minions at once.
	AutoAccept bool `yaml:"auto_accept"`
	// File with patterns of ids whose keys are rejected.
	AutorejectFile string `yaml:"autoreject_file"`
	// File with patterns of ids whose keys are accepted.
	AutosignFile string `yaml:"autosign_file"`
	// Directory with one file for each grain; a key is accepted if the minion's value is in that file.
	AutosignGrainsDir string `yaml:"autosign_grains_dir"`
	// Minutes for which a file in the directory minions_autosign is valid.
	AutosignTimeout time.Duration `yaml:"autosign_timeout"`
	// Drop messages with a wrong signature.
	DropMessagesSignatureFail bool `yaml:"drop_messages_signature_fail"`
	// Algorithm of checksums and fingerprints.
	HashType string `yaml:"hash_type"`
	// Keep a list of accepted keys.
	KeyCache string `yaml:"key_cache"`
	// Log file of salt-key.
	KeyLogFile string `yaml:"key_logfile"`
	// Passphrase of the master's key.
	KeyPass string `yaml:"key_pass"`
	// Bits of new RSA keys.
	KeySize int `yaml:"keysize"`
	// File with the signature of the master's key.
	MasterPubkeySignature string `yaml:"master_pubkey_signature"`
	// Name of the key that signs the master's key. A minion may have a list of names.
	MasterSignKeyName string `yaml:"master_sign_key_name"`
	// Sign the master's key in replies to authentication requests.
	MasterSignPubkey bool `yaml:"master_sign_pubkey"`
	// Send a signature that was made before with the master's key.
	MasterUsePubkeySignature bool `yaml:"master_use_pubkey_signature"`
	// How many minions may connect; 0 means any number.
	MaxMinions int `yaml:"max_minions"`
	// How many keys from one address may wait for acceptance; 0 means any number. Brine's own option.
	MaxPendingKeysPerAddress int `yaml:"max_pending_keys_per_address"`
	// Oldest accepted version of the authentication protocol, 0 to 3.
	MinimumAuthVersion int `yaml:"minimum_auth_version"`
	// Accept every key, even a changed one. Insecure.
	OpenMode bool `yaml:"open_mode"`
	// Let the group read the directory of keys.
	PermissivePKIAccess bool `yaml:"permissive_pki_access"`
	// Ping minions after a change of the session key.
	PingOnRotate bool `yaml:"ping_on_rotate"`
	// Seconds after which the session key changes.
	PublishSession time.Duration `yaml:"publish_session"`
	// How the master signs publications.
	PublishSigningAlgorithm string `yaml:"publish_signing_algorithm"`
	// Drop unsigned messages of minions.
	RequireMinionSignMessages bool `yaml:"require_minion_sign_messages"`
	// Change the session key when a key is deleted or rejected.
	RotateAESKey bool `yaml:"rotate_aes_key"`
	// Master: sign publications. Minion: accept only signed ones.
	SignPubMessages bool `yaml:"sign_pub_messages"`
	// Passphrase of the key that signs the master's key.
	SigningKeyPass string `yaml:"signing_key_pass"`
}

// MinionKeys holds the options of a minion in the group keys.
type MinionKeys struct {
	// Seconds between retries while the master has not accepted the key.
	AcceptanceWaitTime time.Duration `yaml:"acceptance_wait_time"`
	// Longest wait between retries in seconds; the wait grows up to it. With 0 the wait stays the same.
	AcceptanceWaitTimeMax time.Duration `yaml:"acceptance_wait_time_max"`
	// Require a signature of the master's key each time the minion authenticates.
	AlwaysVerifySignature bool `yaml:"always_verify_signature"`
	// Keep a minion running that cannot authenticate.
	AuthSafemode bool `yaml:"auth_safemode"`
	// Seconds to wait for the master's reply to an authentication request.
	AuthTimeout time.Duration `yaml:"auth_timeout"`
	// How often authentication is tried before it fails.
	AuthTries int `yaml:"auth_tries"`
	// Grains that a minion sends when it authenticates, so that the master can accept its key.
	AutosignGrains []string `yaml:"autosign_grains"`
	// How a minion encrypts its authentication request.
	EncryptionAlgorithm string `yaml:"encryption_algorithm"`
	// Algorithm of checksums and fingerprints.
	HashType string `yaml:"hash_type"`
	// Bits of new RSA keys.
	KeySize int `yaml:"keysize"`
	// Fingerprint of the key of the master.
	MasterFinger string `yaml:"master_finger"`
	// Name of the key that signs the master's key. A minion may have a list of names.
	MasterSignKeyName []string `yaml:"master_sign_key_name"`
	// Oldest accepted version of the authentication protocol, 0 to 3.
	MinimumAuthVersion int `yaml:"minimum_auth_version"`
	// Sign what the minion sends.
	MinionSignMessages bool `yaml:"minion_sign_messages"`
	// Accept every key, even a changed one. Insecure.
	OpenMode bool `yaml:"open_mode"`
	// Let the group read the directory of keys.
	PermissivePKIAccess bool `yaml:"permissive_pki_access"`
	// Upper limit of the random wait, in seconds, before a minion authenticates again.
	RandomReauthDelay time.Duration `yaml:"random_reauth_delay"`
	// Upper limit of the random wait, in seconds, before a minion starts.
	RandomStartupDelay time.Duration `yaml:"random_startup_delay"`
	// Keep trying when the minion's key is rejected.
	RejectedRetry bool `yaml:"rejected_retry"`
	// Master: sign publications. Minion: accept only signed ones.
	SignPubMessages bool `yaml:"sign_pub_messages"`
	// How a minion signs.
	SigningAlgorithm string `yaml:"signing_algorithm"`
	// Ask for a signature of the master's key and check it.
	VerifyMasterPubkeySign bool `yaml:"verify_master_pubkey_sign"`
}

// MasterAccess holds the options of a master in the group access.
type MasterAccess struct {
	// Check publisher_acl for wrong names at startup.
	ClientACLVerify bool `yaml:"client_acl_verify"`
	// Where tokens of users are kept.
	EauthTokens string `yaml:"eauth_tokens"`
	// Users of each authentication module, and what they may do.
	ExternalAuth *data.Map `yaml:"external_auth"`
	// Store the permissions of its user in a token.
	KeepACLInToken bool `yaml:"keep_acl_in_token"`
	// Which minions may read which functions of the mine.
	MineGet *data.Map `yaml:"mine_get"`
	// Groups of minions by name, each defined by a compound target.
	Nodegroups *data.Map `yaml:"nodegroups"`
	// Functions that a minion may run on other minions, by minion.
	Peer *data.Map `yaml:"peer"`
	// Runners that minions may call, by minion.
	PeerRun *data.Map `yaml:"peer_run"`
	// Apply the permissions of the user * in external_auth also to users with their own entry.
	PermissiveACL bool `yaml:"permissive_acl"`
	// Functions that users of the master's host may run, by user.
	PublisherACL *data.Map `yaml:"publisher_acl"`
	// Users and functions that are never allowed on the master's host.
	PublisherACLBlacklist *data.Map `yaml:"publisher_acl_blacklist"`
	// Server that answers range targets.
	RangeServer string `yaml:"range_server"`
	// Apply publisher_acl also to users who call salt through sudo.
	SudoACL bool `yaml:"sudo_acl"`
	// Seconds for which a user's token is valid.
	TokenExpire time.Duration `yaml:"token_expire"`
	// Let users choose how long their tokens are valid.
	TokenExpireUserOverride any `yaml:"token_expire_user_override"`
}

// MasterJobs holds the options of a master in the group jobs.
type MasterJobs struct {
	// Where the master keeps grains, pillar and mine of minions: localfs (files), redis, mysql or consul.
	Cache string `yaml:"cache"`
	// Keep the mine even if minion_data_cache is off.
	EnforceMineCache bool `yaml:"enforce_mine_cache"`
	// Returner that minions send all returns to.
	ExtJobCache string `yaml:"ext_job_cache"`
	// Seconds to wait when minions are asked whether they still run a job.
	GatherJobTimeout time.Duration `yaml:"gather_job_timeout"`
	// Ask minions to acknowledge each job they take; Brine's own option.
	JobAcks bool `yaml:"job_acks"`
	// Keep jobs and returns.
	JobCache bool `yaml:"job_cache"`
	// Keep the time at which a job ended.
	JobCacheStoreEndtime bool `yaml:"job_cache_store_endtime"`
	// Seconds for which jobs are kept.
	KeepJobsSeconds time.Duration `yaml:"keep_jobs_seconds"`
	// Hours for which jobs are also written to the directories of Salt's local_cache; -1 means 24 if Salt is installed on the host, else 0. Brine's own option.
	LocalCacheHours int `yaml:"local_cache_hours"`
	// Seconds between runs of the daemon's periodic tasks.
	LoopInterval time.Duration `yaml:"loop_interval"`
	// Seconds between rounds of the maintenance process.
	MaintenanceInterval time.Duration `yaml:"maintenance_interval"`
	// Returner in which the master stores jobs. Unless the option is set, Brine uses its own file jobs.db.
	MasterJobCache string `yaml:"master_job_cache"`
	// Keep grains and pillar of minions on the master.
	MinionDataCache bool `yaml:"minion_data_cache"`
	// Fire an event when a minion has refreshed its grains or pillar.
	MinionDataCacheEvents bool `yaml:"minion_data_cache_events"`
	// Jobs that run at set times, by name.
	Schedule *data.Map `yaml:"schedule"`
	// Seconds that salt waits for returns before it asks which minions still run the job.
	Timeout time.Duration `yaml:"timeout"`
	// Add the id of the process to ids of jobs.
	UniqueJID bool `yaml:"unique_jid"`
}

// MinionJobs holds the options of a minion in the group jobs.
type MinionJobs struct {
	// Keep the returns of the minion's jobs.
	CacheJobs bool `yaml:"cache_jobs"`
	// Run commands of cmd functions without a shell unless a shell is requested.
	CmdSafe bool `yaml:"cmd_safe"`
	// Execution modules that are not loaded.
	DisableModules []string `yaml:"disable_modules"`
	// Returners that are not loaded.
	DisableReturners []string `yaml:"disable_returners"`
	// Returner that minions send all returns to.
	ExtJobCache string `yaml:"ext_job_cache"`
	// Seconds between runs of the daemon's periodic tasks.
	LoopInterval time.Duration `yaml:"loop_interval"`
	// How many job ids a minion remembers to recognize duplicates; at least 5000.
	MinionJIDQueueHWM int `yaml:"minion_jid_queue_hwm"`
	// Minutes between pings of the minion to the master; 0 is never.
	PingInterval time.Duration `yaml:"ping_interval"`
	// How many jobs run at once on a minion; -1 is any number.
	ProcessCountMax int `yaml:"process_count_max"`
	// Send returns to the master.
	PubRet bool `yaml:"pub_ret"`
	// Returners to which the minion also sends each return.
	Return []string `yaml:"return"`
	// Seconds before a return is sent again.
	ReturnRetryTimer time.Duration `yaml:"return_retry_timer"`
	// Most seconds before a return is sent again; the wait is random.
	ReturnRetryTimerMax time.Duration `yaml:"return_retry_timer_max"`
	// How often a return is sent.
	ReturnRetryTries int `yaml:"return_retry_tries"`
	// Jobs that run at set times, by name.
	Schedule *data.Map `yaml:"schedule"`
	// Run scheduled jobs before the minion has authenticated.
	SchedulerBeforeConnect bool `yaml:"scheduler_before_connect"`
	// SLS files that run at the start with startup_states sls.
	SLSList []string `yaml:"sls_list"`
	// What runs at the start of a minion: highstate, sls, top, or nothing.
	StartupStates string `yaml:"startup_states"`
	// Top file that runs at the start with startup_states top.
	TopFile string `yaml:"top_file"`
	// Execution modules that are loaded; no others are.
	WhitelistModules []string `yaml:"whitelist_modules"`
}

// MasterEvents holds the options of a master in the group events.
type MasterEvents struct {
	// Engines that run beside the daemon, each with its options.
	Engines any `yaml:"engines"`
	// How tags of events are matched where nothing else is said.
	EventMatchType string `yaml:"event_match_type"`
	// Returners that store all events.
	EventReturn []string `yaml:"event_return"`
	// Patterns of tags of events that are not sent to the event returners.
	EventReturnBlacklist []string `yaml:"event_return_blacklist"`
	// How many events are collected before they are sent to the event returners.
	EventReturnQueue int `yaml:"event_return_queue"`
	// Patterns of tags; only matching events are sent to the event returners.
	EventReturnWhitelist []string `yaml:"event_return_whitelist"`
	// Programs that run as long as the daemon.
	ExtProcesses any `yaml:"ext_processes"`
	// Bytes of the write buffer of local sockets; 0 means the system's default.
	IPCWriteBuffer int `yaml:"ipc_write_buffer"`
	// Fire events with statistics of the master's workers.
	MasterStats bool `yaml:"master_stats"`
	// Seconds between events about the master's workers.
	MasterStatsEventIter time.Duration `yaml:"master_stats_event_iter"`
	// Bytes of the largest event.
	MaxEventSize int `yaml:"max_event_size"`
	// Fire events that report which minions connect and disconnect.
	PresenceEvents bool `yaml:"presence_events"`
	// SLS files that run on events, by pattern of the tag.
	Reactor any `yaml:"reactor"`
	// Events that may wait for the reactor; further ones are lost.
	ReactorWorkerHWM int `yaml:"reactor_worker_hwm"`
	// How many reactions run at once.
	ReactorWorkerThreads int `yaml:"reactor_worker_threads"`
}

// MinionEvents holds the options of a minion in the group events.
type MinionEvents struct {
	// Beacons of the minion by name.
	Beacons *data.Map `yaml:"beacons"`
	// Run beacons before the minion has authenticated.
	BeaconsBeforeConnect bool `yaml:"beacons_before_connect"`
	// Engines that run beside the daemon, each with its options.
	Engines any `yaml:"engines"`
	// How tags of events are matched where nothing else is said.
	EventMatchType string `yaml:"event_match_type"`
	// Bytes of the write buffer of local sockets; 0 means the system's default.
	IPCWriteBuffer int `yaml:"ipc_write_buffer"`
	// Bytes of the largest event.
	MaxEventSize int `yaml:"max_event_size"`
}

// MasterFiles holds the options of a master in the group files.
type MasterFiles struct {
	// Size of the chunks in which files are transferred, in bytes.
	FileBufferSize int `yaml:"file_buffer_size"`
	// Accept files that minions push (cp.push).
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
	// Also send the start event of old versions when the minion starts.
	EnableLegacyStartupEvents bool `yaml:"enable_legacy_startup_events"`
	// Grains that the configuration sets.
	Grains *data.Map `yaml:"grains"`
	// Patterns of grains that are left out.
	GrainsBlacklist []string `yaml:"grains_blacklist"`
	// Keep grains on disk.
	GrainsCache bool `yaml:"grains_cache"`
	// Seconds for which the grains on disk are used.
	GrainsCacheExpiration time.Duration `yaml:"grains_cache_expiration"`
	// Merge dictionaries of several sources of grains.
	GrainsDeepMerge bool `yaml:"grains_deep_merge"`
	// Minutes between refreshes of grains; 0 is never.
	GrainsRefreshEvery time.Duration `yaml:"grains_refresh_every"`
	// Send the minion's mine.
	MineEnabled bool `yaml:"mine_enabled"`
	// Functions whose results are stored in the mine.
	MineFunctions *data.Map `yaml:"mine_functions"`
	// Minutes between two sendings of the mine.
	MineInterval time.Duration `yaml:"mine_interval"`
	// Send the mine as a job whose return is kept.
	MineReturnJob bool `yaml:"mine_return_job"`
	// Grains that the event of a minion's start carries.
	StartEventGrains []string `yaml:"start_event_grains"`
}

// MasterMetrics holds the options of a master in the group metrics.
type MasterMetrics struct {
	// host:port of the HTTP endpoint for metrics and health checks; empty turns it off. Brine's own option.
	MetricsAddress string `yaml:"metrics_address"`
	// Certificate of metrics_address as a PEM file; empty for no TLS, Brine's own.
	MetricsCertificate string `yaml:"metrics_certificate"`
	// Key of metrics_certificate as a PEM file, Brine's own.
	MetricsKey string `yaml:"metrics_key"`
	// Add a label for the minion to the function counters. Brine's own option.
	MetricsMinionLabel bool `yaml:"metrics_minion_label"`
}

// MasterMasters holds the options of a master in the group masters.
type MasterMasters struct {
	// The cluster that this master belongs to: servers of NATS, key file and more; see cluster.md. Brine's own option.
	Cluster any `yaml:"cluster"`
}

// MasterSyndic holds the options of a master in the group syndic.
type MasterSyndic struct {
	// Let syndics of masters below connect, and send them each job.
	OrderMasters bool `yaml:"order_masters"`
	// Longest time in seconds for which salt-syndic gathers events and returns before it sends them to the masters above.
	SyndicEventForwardTimeout time.Duration `yaml:"syndic_event_forward_timeout"`
	// Which of several masters above gets a return that belongs to none of them: random, or ordered for the first in syndic_master that is there.
	SyndicFailover string `yaml:"syndic_failover"`
	// How many jobs salt-syndic remembers as those whose load a master above has.
	SyndicJIDForwardCacheHWM int `yaml:"syndic_jid_forward_cache_hwm"`
	// The master above, or a list of several, as a name or an address, with a port if it differs from the others.
	SyndicMaster any `yaml:"syndic_master"`
	// Request port of the master above. Without it master_port of the minion's configuration counts.
	SyndicMasterPort int `yaml:"syndic_master_port"`
	// What salt-syndic sends to the masters above: sync for all events and returns, the default, or cluster for returns and the minions that jobs reach.
	SyndicMode string `yaml:"syndic_mode"`
	// Longest time in seconds for which the program salt waits until each connected syndic has reported which minions a job reaches.
	SyndicWait time.Duration `yaml:"syndic_wait"`
	// Ids or globs of the minions that may act as syndics. With an empty list each accepted key that announces itself may. Brine's own option.
	Syndics []string `yaml:"syndics"`
}

// MinionSyndic holds the options of a minion in the group syndic.
type MinionSyndic struct {
	// Fingerprint of the key of the master above. Without it master_finger of the minion's configuration counts.
	SyndicFinger string `yaml:"syndic_finger"`
	// The master above, or a list of several, as a name or an address, with a port if it differs from the others.
	SyndicMaster any `yaml:"syndic_master"`
}
