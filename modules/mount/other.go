//go:build unix

package mount

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type filesystemsArgs struct {
	Config string `default:"'/etc/filesystems'"`
}

// filesystems returns the file systems of AIX, of which there are none here.
//
// CLI Example:
//
//	salt '*' mount.filesystems
func (m *module) filesystems(context.Context, filesystemsArgs) (any, error) {
	return data.NewMap(), nil
}

type setFilesystemsArgs struct {
	Name, Device, Vfstype string
	Opts                  any       `default:"'-'"`
	Mount                 any       `default:"'true'"`
	Config                string    `default:"'/etc/filesystems'"`
	Test                  any       `default:"False"`
	MatchOn               any       `default:"'auto'"`
	NotChange             any       `default:"False"`
	Kwargs                *data.Map `kwargs:"kwargs"`
}

// setFilesystems is for the file of AIX; here it does nothing.
//
// CLI Example:
//
//	salt '*' mount.set_filesystems /mnt/foo /dev/sdz1 jfs2
func (m *module) setFilesystems(context.Context, setFilesystemsArgs) (any, error) {
	return nil, nil
}

type rmFilesystemsArgs struct {
	Name, Device string
	Config       string `default:"'/etc/filesystems'"`
}

// rmFilesystems is for the file of AIX; here it does nothing.
//
// CLI Example:
//
//	salt '*' mount.rm_filesystems /mnt/foo /dev/sdg
func (m *module) rmFilesystems(context.Context, rmFilesystemsArgs) (any, error) {
	return false, nil
}

type automasterArgs struct {
	Config string `default:"'/etc/auto_salt'"`
}

// An auto is a line in the file of the macOS automounter.
type auto struct{ name, opts, device string }

// parseAuto parses a line; ok is false if it is not an entry.
func parseAuto(line string) (a auto, ok bool) {
	words := strings.Fields(line)
	if len(words) != 3 || strings.HasPrefix(words[0], "#") {
		return auto{}, false
	}
	return auto{words[0], words[1], words[2]}, true
}

// source returns the device, prefixed by its type.
func (a auto) source() string {
	_, device, _ := strings.Cut(a.device, ":")
	device, _, _ = strings.Cut(device, ":")
	return device
}

func (a auto) folder() string { return strings.ReplaceAll(a.name, "/..", "") }

// automaster returns the file systems that the macOS automounter mounts, by directory.
//
// CLI Example:
//
//	salt '*' mount.automaster
func (m *module) automaster(_ context.Context, a automasterArgs) (any, error) {
	src, err := os.ReadFile(m.at(a.Config))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, loader.OSError(err)
	}
	found := &data.Map{}
	for line := range strings.Lines(string(src)) {
		if e, ok := parseAuto(line); ok {
			opts := strings.Split(e.opts, ",")
			found.Set(e.folder(), data.NewMap("device", e.source(), "fstype", opts[0],
				"opts", data.Values(opts[1:])))
		}
	}
	return found, nil
}

type rmAutomasterArgs struct {
	Name   string
	Device any
	Config string `default:"'/etc/auto_salt'"`
}

// rmAutomaster removes an entry of the macOS automounter.
//
// CLI Example:
//
//	salt '*' mount.rm_automaster /mnt/foo /dev/sdg
func (m *module) rmAutomaster(ctx context.Context, a rmAutomasterArgs) (any, error) {
	old, err := os.ReadFile(m.at(a.Config))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return nil, loader.Execution("Couldn't read from %s: %w", a.Config, loader.OSError(err))
	}
	var b strings.Builder
	for line := range strings.Lines(string(old)) {
		e, ok := parseAuto(line)
		if !ok || e.folder() != a.Name || data.Truth(a.Device) && e.source() != data.Str(a.Device) {
			b.WriteString(line)
		}
	}
	if b.Len() == len(old) {
		return true, nil
	}
	if err := m.write(a.Config, b.String()); err != nil {
		return nil, loader.Execution("Couldn't write to %s: %w", a.Config, loader.OSError(err))
	}
	_, err = calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"automount", "-cv"}})
	return err == nil, err
}

type setAutomasterArgs struct {
	Name, Device, Fstype string
	Opts                 any       `default:"''"`
	Config               string    `default:"'/etc/auto_salt'"`
	Test                 any       `default:"False"`
	NotChange            any       `default:"False"`
	Kwargs               *data.Map `kwargs:"kwargs"`
}

// setAutomaster adds or changes an entry of the macOS automounter. It returns present, change or
// new.
//
// CLI Example:
//
//	salt '*' mount.set_automaster /mnt/foo /dev/sdz1 ext4
func (m *module) setAutomaster(ctx context.Context, a setAutomasterArgs) (any, error) {
	want := auto{"/.." + a.Name, "-fstype=" + a.Fstype + "," +
		strings.Join(data.SplitTexts(a.Opts, ","), ","), a.Fstype + ":" + a.Device}
	if a.Fstype == "smbfs" {
		want.device = strings.ReplaceAll(want.device, a.Fstype, "")
	}
	old, err := os.ReadFile(m.at(a.Config))
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, loader.Execution("Couldn't read from %s: %w", a.Config, loader.OSError(err))
	}
	text, did := editedAuto(string(old), want, data.Truth(a.NotChange))
	if did == "present" || data.Truth(a.Test) || data.Truth(a.Kwargs.Value("test")) {
		return did, nil
	}
	if missing {
		if _, err := m.env.Call(ctx, "file.append",
			[]any{"/etc/auto_master", "/-\t\t\t" + a.Config}, nil); err != nil {
			return nil, err
		}
	}
	if err := m.write(a.Config, text); err != nil {
		return nil, loader.Execution("File not writable %s", a.Config)
	}
	return did, nil
}

// editedAuto returns the automounter's file with a line, and the action taken.
func editedAuto(text string, want auto, notChange bool) (edited, did string) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if e, ok := parseAuto(line); ok && (e.name == want.name || e.device == want.device) {
			did = "present"
			if e != want && !notChange {
				did, line = "change", want.name+"\t"+want.opts+"\t"+want.device+"\n"
			}
		}
		b.WriteString(line)
	}
	if did == "" {
		did = "new"
		b.WriteString(want.name + "\t" + want.opts + "\t" + want.device + "\n")
	}
	return b.String(), did
}
