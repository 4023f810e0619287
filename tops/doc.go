// Package tops asks systems outside of the top files which states a minion gets: the option master_tops.
//
//	master_tops:
//	  ext_nodes: /usr/local/bin/classify --verbose
//	  saltclass: {path: /srv/saltclass}
//
// Tops is made once from that option and the sources that a program brings along; Top works for one minion at a time:
//
//	t, err := tops.New(tops.Options{Config: opts.Value("master_tops"), Sources: tops.Sources()})
//	found := t.Top(ctx, tops.Minion{ID: "web1", Opts: opts, Grains: grains}) // environment → list of SLS
//
// The rules are those of salt/daemons/masterapi.py (_master_tops) and of the modules in salt/tops. What differs: the id is the
// one that the minion has proved, not what it says its options are; sources are asked in the order of the option, not in that of
// files on disk; and what a source can do wrong (run for ever, print without end) has a limit.
package tops
