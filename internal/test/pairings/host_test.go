//go:build linux

package pairings

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A daemon is a program that is started and stopped repeatedly.
type daemon struct {
	bench   *bench
	by      maker
	program string
	conf    string // directory of its configuration
	said    string // file of its output
	pid     int
	ended   chan struct{} // closed when the process has ended; nil before the first start
}

// start starts the daemon, and does not wait until it is ready.
func (d *daemon) start() error {
	said, err := os.OpenFile(d.said, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := d.bench.command(d.by, d.program, "-c", d.conf)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	d.pid, d.ended = cmd.Process.Pid, ended
	go func() {
		_ = cmd.Wait() // the daemon may end in any way
		close(ended)
	}()
	return nil
}

// stop ends the daemon in order, and kills what it has left.
func (d *daemon) stop() error {
	if d.ended == nil {
		return nil
	}
	_ = syscall.Kill(d.pid, syscall.SIGTERM) // it may have ended
	defer d.kill()
	ended, process := make(chan error), d.ended
	go func() {
		<-process
		close(ended)
	}()
	if err := waitFor(ended); err != nil {
		return fmt.Errorf("stop %s of %s with SIGTERM: %w", d.program, d.by, err)
	}
	return nil
}

// kill kills the daemon and its children.
func (d *daemon) kill() {
	if d.ended == nil {
		return
	}
	_ = syscall.Kill(-d.pid, syscall.SIGKILL) // they may have ended
	<-d.ended
}

func (d *daemon) restart() error {
	if err := d.stop(); err != nil {
		return err
	}
	return d.start()
}

// A host has the directory and configuration of a daemon, and of the programs beside it.
type host struct {
	bench *bench
	name  string
	dir   string
	by    maker // of its master, or of its minion
}

// newHost creates the directory of a host with the configuration files of the given names.
func (b *bench) newHost(t *testing.T, group, name string, m maker, files map[string]string) *host {
	t.Helper()
	h := &host{bench: b, name: group + "-" + name, dir: filepath.Join(b.dir, group, name), by: m}
	for file, text := range files {
		h.write(t, file, text+h.common(file))
	}
	return h
}

// common returns the options that name files of a host.
func (h *host) common(file string) string {
	return fmt.Sprintf(`root_dir: %[1]s
pki_dir: %[1]s/%[2]s.pki
cachedir: %[1]s/c
sock_dir: %[1]s/s
pidfile: %[1]s/%[2]s.pid
syndic_pidfile: %[1]s/syndic.pid
log_file: %[1]s/%[2]s.log
syndic_log_file: %[1]s/syndic.log
log_level: quiet
log_level_logfile: info
user: %[3]s
keysize: 2048
`, h.dir, file, h.bench.user)
}

func (h *host) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// daemon returns a daemon of the host, which is killed when the test ends.
func (h *host) daemon(t *testing.T, m maker, program string) *daemon {
	t.Helper()
	d := &daemon{bench: h.bench, by: m, program: program, conf: h.dir,
		said: filepath.Join(h.dir, program+".log")}
	t.Cleanup(func() {
		d.kill()
		h.keepLogs(t)
	})
	return d
}

// keepLogs copies the logs to the directory that go test -artifacts keeps.
func (h *host) keepLogs(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(h.dir, "*.log"))
	for _, file := range logs {
		var text []byte
		if text, err = os.ReadFile(file); err == nil {
			err = os.WriteFile(filepath.Join(h.bench.logs, h.name+"-"+filepath.Base(file)), text, 0o600)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// order runs the program salt with a job for all minions, and returns their answers by id. It prints each as
// it comes, for with --static Salt's makes a batch of the job.
func (h *host) order(args ...string) (map[string]any, error) {
	words := append([]string{"-c", h.dir, "--out=json", "--no-color", "*"}, args...)
	out, err := h.bench.output(h.by, "salt", words...)
	got, wrong := answers(out)
	if wrong != nil && err != nil {
		return nil, err // a minion that does not answer is an error too, but its answer counts
	}
	return got, wrong
}

// want orders a job until all minions give an answer.
func (h *host) want(ctx context.Context, ids []string, answer string, args ...string) error {
	return until(ctx, func() error {
		got, err := h.order(args...)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if text := fmt.Sprint(got[id]); text != answer {
				return fmt.Errorf("%s: %s answered %s, want %s", strings.Join(args, " "), id, brief(text), answer)
			}
		}
		return nil
	})
}

// ping pings until all minions answer.
func (h *host) ping(ctx context.Context, ids ...string) error {
	return h.want(ctx, ids, "true", "test.ping")
}

// accept waits for keys and accepts them. It waits longer than for other things, because many programs start
// at once before.
func (h *host) accept(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		waiting := filepath.Join(h.dir, "master.pki", "minions_pre", id)
		if err := within(ctx, 3*patience, func() error { return exists(waiting) }); err != nil {
			return fmt.Errorf("wait for the key of %s at %s: %w", id, h.name, err)
		}
	}
	_, err := h.bench.output(h.by, "salt-key", "-c", h.dir, "-A", "-y")
	return err
}

// masterConf returns the configuration of a master at an address with the given ports.
func masterConf(address string, ports []int) string {
	return fmt.Sprintf(`interface: %s
ret_port: %d
publish_port: %d
worker_threads: 3
timeout: 4
gather_job_timeout: 3
loop_interval: 5
syndic_wait: 3
ping_on_rotate: False
`, address, ports[0], ports[1])
}

// minionConf returns the configuration of a minion.
func minionConf(id, master string, ports []int) string {
	return fmt.Sprintf(`id: %s
master: %s
master_port: %d
publish_port: %d
acceptance_wait_time: 1
random_reauth_delay: 1
recon_default: 100
recon_max: 500
auth_timeout: 5
enable_fqdns_grains: False
enable_gpu_grains: False
`, id, master, ports[0], ports[1])
}
