//go:build linux

package pairings

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/freeport"
)

// limit is how long a minion of Brine may take until it answers another master. It has 5 seconds for the
// failover itself. The rest is for a ping by a program in Python on a busy machine.
const limit = 10 * time.Second

// A pair is two masters with one key, and a minion that fails over between them.
type pair struct {
	hosts   [2]*host
	masters [2]*daemon
	minion  *host
	daemon  *daemon
	by      maker // of the minion
	row     *row
}

const failoverConf = `master_type: failover
master_alive_interval: 3
master_failback: True
master_failback_interval: 3
retry_dns: 0
random_master: False
`

func newPair(t *testing.T, b *bench, number int, minion, masters maker, w *row) *pair {
	t.Helper()
	group := fmt.Sprintf("f%d", number)
	ports := freeport.New(t, 2)
	p := &pair{by: minion, row: w}
	var addresses []string
	for i := range p.hosts {
		address := fmt.Sprintf("127.0.%d.%d", 30+number, i+1)
		addresses = append(addresses, address)
		p.hosts[i] = b.newHost(t, group, fmt.Sprintf("m%d", i+1), masters,
			map[string]string{"master": masterConf(address, ports)})
		p.masters[i] = p.hosts[i].daemon(t, masters, "salt-master")
	}
	list := "[" + strings.Join(addresses, ", ") + "]"
	p.minion = b.newHost(t, group, "minion", minion,
		map[string]string{"minion": minionConf("m", list, ports) + failoverConf})
	p.daemon = p.minion.daemon(t, minion, "salt-minion")
	return p
}

// run takes the steps. Each measured time ends with the answer to a ping.
func (p *pair) run(t *testing.T) {
	ctx := t.Context()
	p.row.take(t, step{"start", p.start})
	if p.row.outcomes[0].err != nil {
		return
	}
	p.row.add(t, "failover", func() (string, error) { return p.failover(ctx) })
	p.row.add(t, "failback", func() (string, error) { return p.failback(ctx) })
	p.row.add(t, "job across failback", func() (string, error) { return p.job(ctx) })
}

// start starts the first master, accepts the minion's key, and starts the second one with the keys of the
// first.
func (p *pair) start(ctx context.Context) error {
	if err := errors.Join(p.masters[0].start(), p.daemon.start(), p.hosts[0].accept(ctx, "m")); err != nil {
		return err
	}
	keys := [2]string{}
	for i, h := range p.hosts {
		keys[i] = filepath.Join(h.dir, "master.pki")
	}
	if err := os.MkdirAll(filepath.Join(keys[1], "minions"), 0o700); err != nil {
		return err
	}
	for _, name := range []string{"master.pem", "master.pub", "minions/m"} {
		text, err := os.ReadFile(filepath.Join(keys[0], name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(keys[1], name), text, 0o600); err != nil {
			return err
		}
	}
	return errors.Join(p.masters[1].start(), p.hosts[0].ping(ctx, "m"), p.ready(ctx))
}

// ready waits until the second master takes orders. Salt's listens long before that.
func (p *pair) ready(ctx context.Context) error {
	h := p.hosts[1]
	return until(ctx, func() error {
		out, err := h.bench.output(h.by, "salt", "-c", h.dir, "-t", "1", "nobody", "test.ping")
		if text := fmt.Sprint(out, err); !strings.Contains(text, "No minions matched the target") {
			return fmt.Errorf("order a job for nobody: %s", brief(text))
		}
		return nil
	})
}

// failover kills the first master, and measures when the second one's ping is answered.
func (p *pair) failover(ctx context.Context) (string, error) {
	took, err := p.move(ctx)
	if err == nil && p.by == brine && took > limit {
		err = fmt.Errorf("the failover took %s, longer than %s", took, limit)
	}
	return seconds(took), err
}

// move kills the first master, and waits until the second one's ping is answered.
func (p *pair) move(ctx context.Context) (time.Duration, error) {
	p.masters[0].kill()
	return p.hosts[1].answered(ctx)
}

// failback starts the first master, and measures when its ping is answered.
func (p *pair) failback(ctx context.Context) (string, error) {
	if err := p.masters[0].start(); err != nil {
		return "", err
	}
	took, err := p.hosts[0].answered(ctx)
	return seconds(took), err
}

// job kills the first master, orders a job at the second one, and starts the first one again. The job ends
// once the minion answers the first master, and must end with its return at one of the two.
func (p *pair) job(ctx context.Context) (string, error) {
	if _, err := p.move(ctx); err != nil {
		return "", fmt.Errorf("second failover: %w", err)
	}
	first, second := p.hosts[0], p.hosts[1]
	sign := filepath.Join(p.minion.dir, "end-of-job")
	_, err := second.bench.output(second.by, "salt", "-c", second.dir, "--async", "m", "cmd.run",
		"until [ -e "+sign+" ]; do sleep 0.2; done; echo done")
	if err != nil {
		return "", fmt.Errorf("order the job: %w", err)
	}
	jid := ""
	err = until(ctx, func() (err error) {
		jid, err = p.running(sign)
		return err
	})
	if err != nil {
		return "", err
	}
	took, err := p.failback(ctx)
	if err != nil {
		return "", fmt.Errorf("second failback: %w", err)
	}
	if _, err := p.running(sign); err != nil {
		return "", fmt.Errorf("the job did not last until the failback: %w", err)
	}
	if err := os.WriteFile(sign, nil, 0o600); err != nil {
		return "", err
	}
	begun, where := time.Now(), ""
	err = within(ctx, patience/2, func() error {
		for _, h := range []*host{second, first} {
			text, err := h.bench.output(h.by, "salt-run", "-c", h.dir, "--out=json", "jobs.lookup_jid", jid)
			if err != nil {
				return err
			}
			if strings.Contains(text, `"done"`) {
				where = h.name
				return nil
			}
		}
		return errors.New("no return yet")
	})
	if err != nil {
		return "", fmt.Errorf("job %s, %s after its end: %w", jid, seconds(time.Since(begun)), err)
	}
	return fmt.Sprintf("returned to %s; the first master answered after %s", where, took), nil
}

// running returns the id of the job of the minion whose arguments have a text: the minion keeps a file in
// CACHEDIR/proc for each job that runs.
func (p *pair) running(text string) (jid string, err error) {
	files, err := filepath.Glob(filepath.Join(p.minion.dir, "c", "proc", "20*"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		job, _ := os.ReadFile(file) // the job may have ended
		if strings.Contains(string(job), text) {
			return filepath.Base(file), nil
		}
	}
	return "", fmt.Errorf("no job with %q runs on the minion", text)
}

// answered returns the time until the minion answers a ping of a master. Two pings run at a time, for one
// that starts too early waits for its own end.
func (h *host) answered(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	results := make(chan error, 2)
	ping := func() {
		out, _ := h.bench.output(h.by, "salt", "-c", h.dir, "-t", "2", "--out=json", "*", "test.ping")
		got, err := answers(out)
		if err == nil && got["m"] != true {
			err = fmt.Errorf("answers %v", got)
		}
		results <- err
	}
	go ping()
	tick := time.NewTimer(time.Second)
	defer tick.Stop()
	select { // the second ping runs half a ping later
	case err := <-results:
		results <- err
	case <-tick.C:
	}
	go ping()
	for {
		err := <-results
		took := time.Since(begun)
		if err == nil || took > patience || ctx.Err() != nil {
			<-results // of the other ping
			if err != nil {
				err = fmt.Errorf("ping the minion at %s for %s: %w", h.name, patience, err)
			}
			return took, err
		}
		go ping()
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// runFailovers takes the steps with each pair, one after the other because times are measured.
func runFailovers(t *testing.T, b *bench) []*row {
	control := &row{control: true}
	var rows []*row
	for i, c := range []struct {
		minion, masters maker
		row             *row
	}{
		{brine, brine, &row{}},
		{brine, salt, &row{}},
		{salt, brine, &row{like: control}},
		{salt, salt, control},
	} {
		c.row.name = fmt.Sprintf("minion of %s, masters of %s", c.minion, c.masters)
		rows = append(rows, c.row)
		t.Run(c.row.name, func(t *testing.T) {
			newPair(t, b, i, c.minion, c.masters, c.row).run(t)
		})
	}
	return rows
}
