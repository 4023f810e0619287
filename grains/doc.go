// Package grains collects the facts of a host: its grains.
//
//	c := grains.New(grains.Options{Opts: cfg.Map(), Log: log})
//	g, err := c.Collect(ctx)
//
// On Linux the grains are those of Salt 3006 in name, type, value and order, as its files salt/grains/*.py make them; docs/grains.md
// lists each that differs and why. On macOS, FreeBSD and Windows the basic ones are given. Over the facts lie the grains file,
// which stands beside the minion's configuration, and over that the option grains.
//
// All sources run side by side. Files are read in place of running programs where they say the same: interfaces and routes come
// from the kernel, SELinux from its file system. The programs that remain are dpkg or rpm, systemctl, systemd-detect-virt or virt-what,
// and where they are installed lspci, dmidecode, lvm, zpool, fw_printenv and mdata-get; each has 3 seconds, and its absence costs a grain
// at most. All look-ups of names together have one second, after which fqdn is the host's name and fqdn_ip4, fqdn_ip6 and fqdns are
// empty: a dead name server does not hold a minion up. A cloud's metadata server is asked when metadata_server_grains says so, and has
// 5 seconds. After 11 seconds a collection ends without what hangs in a program or a file.
//
// With grains_cache the grains of one collection serve the starts of the next 5 minutes, or as long as grains_cache_expiration says.
// Collect makes them anew and replaces them, so that a refresh that is asked for shows what is, where Salt goes on with its cache.
//
// Files come from Options.Root, so that tests lay out hosts of their own. The kernel's name, interfaces, routes and the process are
// always those at hand.
//
// What is odd, and as in Salt: oscodename and osrelease may be None, where os-release leaves them open; osrelease_info is a
// tuple, which travels as a list; a default route over a device alone is the gateway True; grains_deep_merge changes
// nothing for the option grains; kernelparams has None for a parameter with two equal signs.
//
// What is chosen: pythonversion is given, though no Python runs, because templates ask it for the major version and the names
// of packages (python3-…), and fail without it; it names the Python of Salt 3006's own packages as far as templates can tell, [3, 10, 0,
// final, 0]. server_id is that of a Salt on Python 3.11 or later; where the number must not change, set server_id_use_crc.
package grains
