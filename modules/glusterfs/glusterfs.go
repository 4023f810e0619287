// Package glusterfs is Salt's module glusterfs: peers and volumes of a pool of GlusterFS, by the
// program gluster (salt/modules/glusterfs.py).
//
// glusterfs.go runs the program, peer.go has peers and versions, volume.go volumes, quota.go quotas,
// and xml.go reads the answers.
//
// Differences from Salt: gluster older than 3.6 is not served. Names with blanks or line ends, or
// that begin with a dash, are refused. glusterfs.get_version returns the version, where Salt ends
// with an exception.
package glusterfs

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module glusterfs. It is available on hosts with the program gluster.
func Plugin() loader.Plugin { return loader.Plugin{Name: "glusterfs", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("gluster") == "" {
		return nil, errors.New("glusterfs server is not installed")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add_volume_bricks", m.addVolumeBricks),
		loader.F("create_volume", m.createVolume),
		loader.F("delete_volume", m.deleteVolume),
		loader.F("disable_quota_volume", m.disableQuotaVolume),
		loader.F("enable_quota_volume", m.enableQuotaVolume),
		loader.F("get_max_op_version", m.getMaxOpVersion),
		loader.F("get_op_version", m.getOpVersion),
		loader.F("get_version", m.getVersion),
		loader.F("info", m.info),
		loader.F("list_quota_volume", m.listQuotaVolume),
		loader.F("list_volumes", m.listVolumes),
		loader.F("peer", m.peer),
		loader.F("peer_status", m.peerStatus),
		loader.F("set_op_version", m.setOpVersion),
		loader.F("set_quota_volume", m.setQuotaVolume),
		loader.F("start_volume", m.startVolume),
		loader.F("status", m.status),
		loader.F("stop_volume", m.stopVolume),
		loader.F("unset_quota_volume", m.unsetQuotaVolume),
	}}, nil
}

type noArgs struct{}

type nameArgs struct{ Name string }

// ask runs a command of gluster and returns its answer. The command goes to standard input, as that
// may be longer than a command line.
func (m *module) ask(ctx context.Context, words ...string) (*node, error) {
	for _, word := range words {
		if word == "" || strings.HasPrefix(word, "-") || strings.ContainsAny(word, " \t\r\n\x00\"'") {
			return nil, loader.Execution("gluster takes no argument %q", word)
		}
	}
	text, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"gluster", "--xml", "--mode=script"},
		Stdin: strings.Join(words, " ") + "\n"})
	if err != nil {
		return nil, err
	}
	answer, err := parse(text)
	if err != nil {
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		return nil, loader.Execution("%s", strings.Join(lines[:len(lines)-1], "\n"))
	}
	if !answer.ok() {
		m.env.Log.Error("Failed gluster call: " + strings.Join(words, " ") + ": " + answer.failure())
	}
	return answer, nil
}

// do runs a command of gluster and returns whether it succeeded.
func (m *module) do(ctx context.Context, words ...string) (bool, error) {
	answer, err := m.ask(ctx, words...)
	return err == nil && answer.ok(), err
}

func (n *node) ok() bool { return n.child("opRet").str() == "0" }

func (n *node) failure() string { return n.child("opErrstr").str() }

var versionLine = regexp.MustCompile(`(?m)^glusterfs ((?:\d+\.)+\d+)`)

// version returns the version of gluster, 3.6 if it prints none.
func (m *module) version(ctx context.Context) (text string, major, minor int, err error) {
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"gluster", "--version"}})
	text = "3.6"
	if found := versionLine.FindStringSubmatch(out); found != nil {
		text = found[1]
	}
	if _, err := fmt.Sscanf(text, "%d.%d", &major, &minor); err != nil {
		return "", 0, 0, loader.Execution("read the version of gluster: %w", err)
	}
	return text, major, minor, err
}
