// Package tops asks external systems which states a minion gets, in addition to the top files: the
// option master_tops.
//
//	master_tops:
//	  ext_nodes: /usr/local/bin/classify --verbose
//	  saltclass: {path: /srv/saltclass}
//	  cobbler: {}
//	  reclass: {inventory_base_uri: /srv/reclass}
//	  varstack: /etc/varstack.yaml
//
// Tops is made once from that option and the sources that the program supports; Top serves one
// minion at a time:
//
//	t, err := tops.New(tops.Options{Config: opts.Value("master_tops"), Sources: tops.Sources()})
//	found := t.Top(ctx, tops.Minion{ID: "web1", Opts: opts, Grains: grains}) // environment → list of SLS
//
// The rules are those of salt/daemons/masterapi.py (_master_tops) and of the modules in salt/tops.
// It differs from Salt in three points. The id is the authenticated one, not the one in the options
// that the minion sent. Sources are asked in the order of the option, not in that of files on disk.
// A source that runs forever or prints without end is limited.
package tops
