package config

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

const bootstrapURL = "https://bootstrap.saltstack.com" // salt/utils/cloud.py

type bootstrapArgs struct {
	Bootstrap string `default:"None"`
}

// gatherBootstrapScript puts the script that installs Salt on a new host into the directories of deploy scripts, and returns the path
// of the first copy, or None when none could be written.
//
// bootstrap
//
//	Where the script comes from: an address, the path of a file on the minion, or the script itself. Default: the option
//	bootstrap_script_url. An address needs the module cp.
//
// CLI Example:
//
//	salt '*' config.gather_bootstrap_script
func (m *module) gatherBootstrapScript(ctx context.Context, a bootstrapArgs) (any, error) {
	name, body, err := m.script(ctx, a.Bootstrap)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return nil, loader.Exception("ValueError", "No content in bootstrap script !")
	}
	var first any
	for _, dir := range m.deployDirs() {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, body, 0o644); err != nil {
			m.env.Log.Debugf("Failed to write the updated script: %v", err)
		} else if first == nil {
			first = path
		}
	}
	return first, nil
}

// script returns the name and the text of the script (salt/utils/cloud.py, update_bootstrap).
func (m *module) script(ctx context.Context, source string) (name string, body []byte, err error) {
	usual := bootstrapURL
	if v, ok := m.env.Opts.Get("bootstrap_script_url"); ok {
		usual = data.Str(v)
	}
	if source == "" {
		source = usual
	}
	switch {
	case source == "":
		return "", nil, loader.Exception("ValueError", "Cant get any source to update")
	case strings.HasPrefix(source, "http") || strings.Contains(source, "://"):
		name = filepath.Base(source)
		if source == usual {
			name = "bootstrap-salt.sh"
		}
		body, err = m.download(ctx, source)
		return name, body, err
	}
	body, err = os.ReadFile(source)
	if err != nil {
		sum := sha1.Sum([]byte(source))
		return hex.EncodeToString(sum[:]) + ".sh", []byte(source), nil
	}
	return filepath.Base(source), body, nil
}

// download fetches the script through the module cp.
func (m *module) download(ctx context.Context, url string) ([]byte, error) {
	if !m.env.Functions.Has("cp.get_url") {
		return nil, loader.Execution("Failed to download the latest stable version of the bootstrap-salt.sh script from %s: %s",
			url, m.env.Functions.MissingText("cp.get_url"))
	}
	text, err := m.env.Call(ctx, "cp.get_url", []any{url, nil}, nil)
	if err != nil {
		return nil, err
	}
	if body, ok := text.(string); ok {
		return []byte(body), nil
	}
	return nil, loader.Execution("Failed to download the latest stable version of the bootstrap-salt.sh script from %s.", url)
}

// deployDirs returns the directories for deploy scripts that are there; the one beside the configuration is made.
func (m *module) deployDirs() []string {
	own := filepath.Join(filepath.Dir(m.env.Opts.Text("conf_file")), "cloud.deploy.d")
	var dirs []string
	listed, _ := m.env.Option("deploy_scripts_search_path").([]any)
	for _, dir := range append(listed, own) {
		dirs = append(dirs, data.Str(dir))
	}
	_ = os.Mkdir(own, 0o755) // where it cannot be made, nothing can be written into it either
	return slices.Compact(dirs)
}
