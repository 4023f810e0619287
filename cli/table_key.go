package cli

func keyProgram(env environ) *program {
	return &program{name: "salt-key", usage: "%prog [options]",
		description: "salt-key is used to manage Salt authentication keys",
		groups: []group{
			{options: keyTable(env)},
			keyAuthGroup(),
			outputGroup("salt-key"),
			keyActionsGroup(),
			keyGenerationGroup(),
			keyLoggingGroup(),
		},
	}
}

func keyTable(env environ) []option {
	return []option{
		optVersion(),
		optVersionsReport(),
		optHelp(),
		optSaltfile(),
		optConfigDir(env),
		optUser("salt-key"),
		optHardCrash(env),
		{names: "-q --quiet", dest: "quiet", kind: boolean, def: false, help: "Suppress output."},
		{names: "-y --yes", dest: "yes", kind: boolean, def: false,
			help: "Answer \"Yes\" to all questions presented. Default: %default."},
		{names: "--rotate-aes-key", dest: "rotate_aes_key", def: true,
			help: "Setting this to False prevents the master from refreshing the key session when keys are deleted " +
				"or rejected, this lowers the security of the key deletion/rejection operation. Default: " +
				"%default."},
		{names: "--preserve-minions", dest: "preserve_minions", def: false,
			help: "Setting this to True prevents the master from deleting the minion cache when keys are deleted, " +
				"this may have security implications if compromised minions auth with a previous deleted minion " +
				"ID. Default: %default."},
	}
}

func keyActionsGroup() group {
	return group{title: "Actions", options: []option{
		{names: "-l --list", dest: "list", def: "", metavar: "ARG",
			help: "List the public keys. The args 'pre', 'un', and 'unaccepted' will list unaccepted/unsigned " +
				"keys. 'acc' or 'accepted' will list accepted/signed keys. 'rej' or 'rejected' will list " +
				"rejected keys. 'den' or 'denied' will list denied keys. Finally, 'all' will list all keys."},
		{names: "-L --list-all", dest: "list_all", kind: boolean, def: false,
			help: "List all public keys. Deprecated: use \"--list all\"."},
		{names: "-a --accept", dest: "accept", def: "",
			help: "Accept the specified public key (use --include-rejected and --include-denied to match rejected " +
				"and denied keys in addition to pending keys). Globs are supported."},
		{names: "-A --accept-all", dest: "accept_all", kind: boolean, def: false,
			help: "Accept all pending keys."},
		{names: "-r --reject", dest: "reject", def: "",
			help: "Reject the specified public key. Use --include-accepted and --include-denied to match accepted " +
				"and denied keys in addition to pending keys. Globs are supported."},
		{names: "-R --reject-all", dest: "reject_all", kind: boolean, def: false,
			help: "Reject all pending keys."},
		{names: "--include-all", dest: "include_all", kind: boolean, def: false,
			help: "Include rejected/accepted keys when accepting/rejecting. Deprecated: use \"--include-rejected\" " +
				"and \"--include-accepted\"."},
		{names: "--include-accepted", dest: "include_accepted", kind: boolean, def: false,
			help: "Include accepted keys when rejecting."},
		{names: "--include-rejected", dest: "include_rejected", kind: boolean, def: false,
			help: "Include rejected keys when accepting."},
		{names: "--include-denied", dest: "include_denied", kind: boolean, def: false,
			help: "Include denied keys when accepting/rejecting."},
		{names: "-p --print", dest: "print", def: "", help: "Print the specified public key."},
		{names: "-P --print-all", dest: "print_all", kind: boolean, def: false,
			help: "Print all public keys."},
		{names: "-d --delete", dest: "delete", def: "",
			help: "Delete the specified key. Globs are supported."},
		{names: "-D --delete-all", dest: "delete_all", kind: boolean, def: false,
			help: "Delete all keys."},
		{names: "-f --finger", dest: "finger", def: "",
			help: "Print the specified key's fingerprint."},
		{names: "-F --finger-all", dest: "finger_all", kind: boolean, def: false,
			help: "Print all keys' fingerprints."},
	}}
}

func keyGenerationGroup() group {
	return group{title: "Key Generation Options", options: []option{
		{names: "--gen-keys", dest: "gen_keys", def: "",
			help: "Set a name to generate a keypair for use with salt."},
		{names: "--gen-keys-dir", dest: "gen_keys_dir", def: ".",
			help: "Set the directory to save the generated keypair, only works with \"gen_keys_dir\" option. " +
				"Default: '%default'."},
		{names: "--keysize", dest: "keysize", kind: integer, def: int64(2048),
			help: "Set the keysize for the generated key, only works with the \"--gen-keys\" option, the key size " +
				"must be 2048 or higher, otherwise it will be rounded up to 2048. Default: %default."},
		{names: "--gen-signature", dest: "gen_signature", kind: boolean, def: false,
			help: "Create a signature file of the masters public-key named master_pubkey_signature. The signature " +
				"can be send to a minion in the masters auth-reply and enables the minion to verify the masters " +
				"public-key cryptographically. This requires a new signing-key-pair which can be auto-created " +
				"with the --auto-create parameter."},
		{names: "--priv", dest: "priv", def: "",
			help: "The private-key file to create a signature with."},
		{names: "--signature-path", dest: "signature_path", def: "",
			help: "The path where the signature file should be written."},
		{names: "--pub", dest: "pub", def: "",
			help: "The public-key file to create a signature for."},
		{names: "--rotate-master-key", dest: "rotate_master_key", kind: optional,
			def: "", metavar: "DAYS", own: true,
			help: "Make a new key for the master, which minions are told of with the old one for so many days."},
		{names: "--auto-create", dest: "auto_create", kind: boolean, def: false,
			help: "Auto-create a signing key-pair if it does not yet exist."},
	}}
}

// keyAuthGroup lacks -a, which means --accept.
func keyAuthGroup() group {
	g := authGroup()
	g.options[0].names = "--auth --eauth --external-auth"
	return g
}

// keyLoggingGroup lacks -l, which means --list.
func keyLoggingGroup() group {
	g := loggingGroup("key_logfile", "/var/log/salt/key")
	g.options[0].names = "--log-level"
	return g
}
