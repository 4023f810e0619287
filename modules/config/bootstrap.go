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
	"github.com/brineproject/brine/modules/calls"
)

const bootstrapURL = "https://bootstrap.saltstack.com" // salt/utils/cloud.py

type bootstrapArgs struct {
	Bootstrap string `default:"None"`
}

// gatherBootstrapScript writes the script that installs Salt on a new host to the directories of
// deploy scripts. It returns the path of the first copy, or None if none could be written.
//
// bootstrap
//
//	The source of the script: a URL, the path of a file on the minion, or the script itself.
//	Default: the option bootstrap_script_url. A URL needs the module cp.
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

// script returns the name and the content of the script (salt/utils/cloud.py, update_bootstrap).
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
	text, ok, err := calls.GetURLText(ctx, m.env, url)
	if err != nil {
		return nil, err
	}
	if ok {
		return []byte(text), nil
	}
	return nil, loader.Execution("Failed to download the latest stable version of the bootstrap-salt.sh script from %s.", url)
}

// deployDirs returns the existing directories for deploy scripts. It creates the one next to the
// configuration.
func (m *module) deployDirs() []string {
	own := filepath.Join(filepath.Dir(m.env.Opts.Text("conf_file")), "cloud.deploy.d")
	var dirs []string
	listed, _ := m.env.Option("deploy_scripts_search_path").([]any)
	for _, dir := range append(listed, own) {
		dirs = append(dirs, data.Str(dir))
	}
	_ = os.Mkdir(own, 0o755) // if it cannot be created, writing to it fails as well
	return slices.Compact(dirs)
}
