package mirror

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"
)

// Commands for ssh. git hands them to a shell, so they are fixed. ssh never prompts, and ends when
// its server stays silent.
const (
	sshCommand = `ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 -o ControlMaster=no -o ControlPath=none`
	sshWithKey = sshCommand + ` -o IdentitiesOnly=yes -i "$BRINE_GIT_KEY"`
	sshAgent   = sshCommand + ` -o IdentityFile=none -o IdentityAgent=SSH_AUTH_SOCK`
)

// useSSH configures git to use ssh, with a key if there is one. A key with a passphrase is
// decrypted here and offered by an agent, so that the passphrase never leaves this process.
func (g *git) useSSH(o Options) (err error) {
	command := sshCommand
	switch {
	case o.PrivKey != "" && o.Passphrase != "":
		if g.agent, err = newAgent(o.PrivKey, o.Passphrase); err != nil {
			return err
		}
		command = sshAgent
		g.env = append(g.env, "SSH_AUTH_SOCK="+g.agent.socket())
	case o.PrivKey != "":
		command = sshWithKey
		g.env = append(g.env, "BRINE_GIT_KEY="+o.PrivKey)
	}
	g.env = append(g.env, "GIT_SSH_COMMAND="+command, "GIT_SSH_VARIANT=ssh")
	return nil
}

// An agent offers one key to ssh, on a socket that belongs to this user.
type agent struct {
	dir      string
	listener net.Listener
	done     sync.WaitGroup

	mu     sync.Mutex
	client net.Conn // the client being served; nil between two clients
	closed bool
}

func newAgent(file, passphrase string) (*agent, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("privkey: %w", err)
	}
	key, err := ssh.ParseRawPrivateKeyWithPassphrase(text, []byte(passphrase))
	if err != nil {
		return nil, fmt.Errorf("privkey %s: %w", file, err)
	}
	ring := sshagent.NewKeyring()
	if err := ring.Add(sshagent.AddedKey{PrivateKey: key}); err != nil {
		return nil, fmt.Errorf("privkey %s: %w", file, err)
	}
	a := &agent{}
	if a.dir, err = os.MkdirTemp("", "git-agent"); err != nil {
		return nil, err
	}
	if a.listener, err = net.Listen("unix", a.socket()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(a.dir))
	}
	a.done.Go(func() { a.serve(ring) })
	return a, nil
}

func (a *agent) socket() string { return filepath.Join(a.dir, "agent") }

func (a *agent) serve(ring sshagent.Agent) {
	for {
		c, err := a.listener.Accept()
		if err != nil {
			return
		}
		if a.take(c) {
			_ = sshagent.ServeAgent(ring, c) // ends when ssh does
		}
		_ = c.Close()
	}
}

// take records the client being served, so that close can end it. It reports false if the agent is
// closed.
func (a *agent) take(c net.Conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client = c
	return !a.closed
}

// close is called when git has ended.
func (a *agent) close() {
	a.mu.Lock()
	a.closed = true
	if a.client != nil {
		_ = a.client.Close()
	}
	a.mu.Unlock()
	_ = a.listener.Close()
	_ = os.RemoveAll(a.dir)
	a.done.Wait()
}
