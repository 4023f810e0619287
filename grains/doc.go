// Package grains collects the facts of a host: its grains.
//
//	c := grains.New(grains.Options{Opts: cfg.Map(), Log: log})
//	g, err := c.Collect(ctx)
//
// On Linux the grains are those of Salt 3006 in name, type, value and order, as its files
// salt/grains/*.py make them; docs/grains.md lists each difference and its reason. On macOS,
// FreeBSD and Windows only the basic ones are collected. The grains file, next to the minion's
// configuration, overrides the collected grains, and the option grains overrides both.
//
// All sources run concurrently. Files are read instead of running programs if they contain the same
// data: interfaces and routes come from the kernel, SELinux from its file system. The remaining
// programs are dpkg or rpm, systemctl, systemd-detect-virt or virt-what, and, if installed, lspci,
// dmidecode, lvm, zpool, fw_printenv and mdata-get. Each has a limit of 3 seconds, and a missing
// one loses a grain at most. All name look-ups together are limited to one second. After that, fqdn
// is the host's name and fqdn_ip4, fqdn_ip6 and fqdns are empty: a dead name server does not hold a
// minion up. A cloud's metadata server is asked if metadata_server_grains is set, with a limit of 5
// seconds. After 11 seconds a collection ends without the grains of hanging programs or files.
//
// With grains_cache the grains of one collection are used for starts during the next 5 minutes, or
// as long as grains_cache_expiration allows. Collect always collects anew and replaces the cache,
// so that a requested refresh shows the current state, where Salt goes on using its cache.
//
// Files are read below Options.Root, so that tests can define their own hosts. The kernel's name,
// interfaces, routes and the process are always those of the real host.
//
// Some behaviour is odd, but the same as in Salt. oscodename and osrelease may be None if
// os-release lacks them. osrelease_info is a tuple, which travels as a list. A default route over a
// device without a gateway makes the gateway True. grains_deep_merge does not affect the option
// grains. kernelparams has None for a parameter with two equal signs.
//
// Some grains are deliberate choices. pythonversion exists although no Python runs, because
// templates use it for the major version and the names of packages (python3-…), and fail without
// it. Its value is the Python of Salt 3006's own packages as far as templates can tell, [3, 10, 0,
// final, 0].
package grains
