package mirror

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/process"
)

// Limits for what git leaves behind and prints.
const (
	defaultPacks = 50
	maxStderr    = 4 << 10
	maxRefs      = 64 << 20
)

// fetch fetches the repository and publishes the result.
func (m *Mirror) fetch(ctx context.Context) (changed bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.o.Limit, process.ErrTimeout)
	defer cancel()
	git, err := m.newGit()
	if err != nil {
		return false, err
	}
	defer git.close()
	if _, err := os.Stat(filepath.Join(m.gitDir(), "HEAD")); err != nil {
		if err := git.run(ctx, nil, "init", "--quiet", "--bare", "--template="); err != nil {
			return false, err
		}
	}
	m.clean()
	if err := git.run(ctx, nil, "fetch", "--quiet", "--prune", "--force", "--no-tags",
		"--no-recurse-submodules", "--no-write-fetch-head", "origin"); err != nil {
		return false, err
	}
	if packs, _ := filepath.Glob(filepath.Join(m.gitDir(), "objects", "pack",
		"*.pack")); len(packs) > m.packs {
		if err := git.run(ctx, nil, "repack", "-a", "-d", "-q"); err != nil {
			return false, err
		}
	}
	refs := &bounded{most: maxRefs}
	if err := git.run(ctx, refs, "for-each-ref",
		"--format=%(refname) %(objectname) %(tree) %(*tree)", "refs/remotes/origin",
		"refs/tags"); err != nil {
		return false, err
	}
	return m.publish(refs.buf.Bytes())
}

// clean removes what a killed update left behind: locks of git and partial packs. Nobody holds
// those locks, since this process has the lock of the mirror.
func (m *Mirror) clean() {
	_ = filepath.WalkDir(m.gitDir(), func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case e.IsDir() && e.Name() == "objects":
			halves, _ := filepath.Glob(filepath.Join(p, "pack", "tmp_*"))
			for _, half := range halves {
				_ = os.Remove(half)
			}
			return fs.SkipDir
		case strings.HasSuffix(p, ".lock"):
			_ = os.Remove(p)
		}
		return nil // git reports what cannot be removed
	})
}

// A git is the git program with its environment and configuration.
type git struct {
	program string
	dir     string
	env     []string
	secrets []string
	agent   *agent // nil without a passphrase
}

func (m *Mirror) newGit() (*git, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, errors.New("the program git, which is needed to fetch, is not installed")
	}
	g := &git{program: program, dir: m.gitDir()}
	g.env = append(inherited(), "LC_ALL=C", "GIT_DIR="+m.gitDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_ALLOW_PROTOCOL="+
			m.addr.protocols(), "GIT_PROTOCOL_FROM_USER=0", "GIT_OPTIONAL_LOCKS=0")
	config := m.config()
	if m.o.Password != "" {
		sign := base64.StdEncoding.EncodeToString([]byte(m.o.User + ":" + m.o.Password))
		config = append(config, [2]string{"http." + m.addr.site + ".extraHeader",
			"Authorization: Basic " + sign})
		g.secrets = append(g.secrets, sign, m.o.Password)
	} else if m.o.User != "" {
		// a token in place of a user
		sign := base64.StdEncoding.EncodeToString([]byte(m.o.User + ":"))
		config = append(config, [2]string{"http." + m.addr.site + ".extraHeader",
			"Authorization: Basic " + sign})
		g.secrets = append(g.secrets, sign, m.o.User)
	}
	g.env = append(g.env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config)))
	for i, c := range config {
		g.env = append(g.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, c[0]),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, c[1]))
	}
	if m.addr.scheme == "ssh" {
		err = g.useSSH(m.o)
	}
	return g, err
}

// inherited returns the environment variables of this process that matter to git and ssh.
func inherited() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "USER", "TMPDIR", "SSH_AUTH_SOCK",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "http_proxy", "https_proxy", "no_proxy",
		"all_proxy", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// protocols returns the protocols that git may use. http may redirect to https, but not the other
// way.
func (a address) protocols() string {
	if a.scheme == "http" {
		return "http:https"
	}
	return a.scheme
}

// config returns the complete configuration of git.
func (m *Mirror) config() [][2]string {
	c := [][2]string{
		{"core.hooksPath", "/dev/null"}, {"core.fsync", "committed,reference"},
		{"init.defaultBranch", "none"}, {"credential.helper", ""},
		{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"fetch.unpackLimit", "1"},
		{"fetch.recurseSubmodules", "no"}, {"repack.writeBitmaps", "false"},
		{"http.sslVerify", fmt.Sprint(!m.o.NoVerify)}, {"http.lowSpeedLimit", "1"},
		{"http.lowSpeedTime", "60"},
		{"remote.origin.url", m.addr.remote}, {"remote.origin.tagOpt", "--no-tags"},
		{"remote.origin.followRemoteHEAD", "never"},
	}
	if m.o.Proxy != "" {
		c = append(c, [2]string{"http.proxy", m.o.Proxy})
	}
	for _, spec := range m.o.Refspecs {
		c = append(c, [2]string{"remote.origin.fetch", spec})
	}
	return c
}

// run runs git. The error contains the end of git's messages, without secrets.
func (g *git) run(ctx context.Context, stdout *bounded, args ...string) error {
	cmd := exec.Command(g.program, args...)
	cmd.Env = g.env
	cmd.Dir = "/"
	stderr := &bounded{most: maxStderr, tail: true}
	cmd.Stderr = stderr
	if stdout != nil {
		cmd.Stdout = stdout
	}
	err := process.Run(ctx, cmd)
	switch {
	case err == nil && stdout != nil && stdout.over:
		return fmt.Errorf("git %s prints more than %d bytes", args[0], stdout.most)
	case err == nil:
		return nil
	case errors.Is(err, process.ErrTimeout):
		return fmt.Errorf("git %s did not end in time and was killed: %w", args[0], err)
	}
	return fmt.Errorf("git %s: %w: %s", args[0], err,
		g.hide(strings.Join(strings.Fields(stderr.buf.String()), " ")))
}

func (g *git) hide(s string) string {
	for _, secret := range g.secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	return s
}

func (g *git) close() {
	if g.agent != nil {
		g.agent.close()
	}
}

// bounded keeps the first bytes that are written, or the last.
type bounded struct {
	buf  bytes.Buffer
	most int
	tail bool
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	switch {
	case b.tail:
		b.buf.Write(p)
		b.buf.Next(max(0, b.buf.Len()-b.most))
	case b.buf.Len()+len(p) > b.most:
		b.over = true
	default:
		b.buf.Write(p)
	}
	return len(p), nil
}
