package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	chromium "github.com/brineproject/brine/internal/test/browser"
)

const siteSLS = `{% set dir = '@DIR@/' + grains['id'].split('.')[0] %}
index:
  file.managed:
    - name: {{ dir }}/srv/www/index.html
    - contents: '<h1>It works</h1>'
    - makedirs: true
nginx-config:
  file.managed:
    - name: {{ dir }}/etc/nginx/nginx.conf
    - makedirs: true
    - contents: |
        worker_processes @WORKERS@;
        events {
            worker_connections @CONNECTIONS@;
        }
reload:
  test.configurable_test_state:
    - name: nginx
    - changes: @CHANGES@
    - result: true
    - comment: The configuration is valid.
tls-key:
  file.@CHECK@:
    - name: {{ dir }}/etc/ssl/private/www.key
`

// TestImages makes the pictures of the documentation.
func TestImages(t *testing.T) {
	if os.Getenv("BRINE_SCREENSHOTS") == "" {
		t.Skip("BRINE_SCREENSHOTS names no directory for the pictures; see make screenshots")
	}
	dir, err := os.MkdirTemp("", "site")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := chromium.Start(t)
	systems, n := []string{"Debian-12", "Debian-12", "Ubuntu-24.04", "Rocky Linux-9"}, 0
	b := openWith(t, func(cfg *config.Minion) {
		cfg.Grains = data.NewMap("role", strings.TrimRight(strings.TrimSuffix(cfg.ID, ".example.com"), "0123456789"),
			"osfinger", systems[n%len(systems)])
		n++
		cfg.SourceAddress = fmt.Sprintf("127.0.0.%d", 20+n)
	}, names("build1", "cache1", "db1", "db2", "mail1", "mon1", "web1", "web2", "web3", "web4", "web5", "web6")...)
	if err := b.Minions["db2.example.com"].Stop(); err != nil {
		t.Fatal(err)
	}
	b.logIn(t, "saltdev")
	root := b.Server.URL + "/console"
	p.Emulate(1440, 900, false)
	p.Open(root + "/minions?grain=role")
	p.Press("s", "a", "l", "t", "d", "e", "v", "Tab", "s", "a", "l", "t", "d", "e", "v", "Enter")
	p.WaitText("11 of 12 connected")
	p.Window("console-minions")

	fill := strings.NewReplacer("@DIR@", dir, "@WORKERS@", "2", "@CONNECTIONS@", "512", "@CHANGES@", "false", "@CHECK@", "missing")
	b.write(t, "site.sls", fill.Replace(siteSLS))
	apply := []string{"tgt", "web[1-3]*", "tgt_type", "glob", "fun", "state.apply", "shown", "state.apply", "p.mods", "site"}
	b.ended(t, b.start(t, apply...))
	for _, name := range []string{"web2", "web3"} {
		key := filepath.Join(dir, name, "etc", "ssl", "private", "www.key")
		if err := os.MkdirAll(filepath.Dir(key), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(key, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fill = strings.NewReplacer("@DIR@", dir, "@WORKERS@", "auto", "@CONNECTIONS@", "1024", "@CHANGES@", "true", "@CHECK@", "exists")
	b.write(t, "site.sls", fill.Replace(siteSLS))
	jid := b.start(t, apply...)
	b.ended(t, jid)
	p.Open(root + "/jobs/" + jid)
	p.Click(`[id="r-web1.example.com"] summary`)
	p.WaitText("worker_connections 1024")
	p.Eval(`(document.activeElement.blur(), scrollTo(0, 0), "")`)
	p.Window("console-job")
}

func names(hosts ...string) []string {
	for i, host := range hosts {
		hosts[i] = host + ".example.com"
	}
	return hosts
}
