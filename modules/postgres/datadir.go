package postgres

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// isDataDir reports whether a directory holds the files of a server.
func (m *module) isDataDir(dir string) (bool, error) {
	for _, name := range []string{"PG_VERSION", "postgresql.conf"} {
		s, err := os.Stat(filepath.Join(m.env.Root, dir, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !s.Mode().IsRegular() {
			return false, nil
		}
		if err != nil {
			return false, loader.Execution("check the PostgreSQL data directory: %w", err)
		}
	}
	return true, nil
}

// datadirExists reports whether a directory holds the data of a server.
//
// CLI Example:
//
//	salt '*' postgres.datadir_exists '/var/lib/pgsql/data'
func (m *module) datadirExists(_ context.Context, a datadirExistsArgs) (any, error) {
	return m.isDataDir(a.Name)
}

// datadirInit creates the data directory of a server with the program initdb, and reports whether
// it did so. It returns False if the directory holds data.
//
// auth
//
//	The authentication method of local users.
//
// user, password
//
//	The name and the password of the superuser. Default of user: runas.
//
// waldir
//
//	The directory of the write-ahead log.
//
// checksums
//
//	Whether pages get checksums.
//
// CLI Example:
//
//	salt '*' postgres.datadir_init '/var/lib/pgsql/data'
func (m *module) datadirInit(ctx context.Context, a datadirInitArgs) (any, error) {
	if there, err := m.isDataDir(a.Name); err != nil || there {
		return false, err
	}
	program, err := m.initdb(ctx)
	if err != nil {
		return nil, err
	}
	runas := a.runas(m.env.GrainsNow().Text("os_family"))
	words := append([]any{program}, a.words(runas)...)
	if a.Password != nil {
		file, err := m.secretFile(ctx, data.Str(a.Password), runas)
		if err != nil {
			return nil, err
		}
		defer os.Remove(file)
		words = append(words, "--pwfile="+file)
	}
	run := calls.Run{Argv: data.Texts(words), CleanEnv: true, As: runas}
	timeout, err := m.setting(ctx, "timeout")
	if err != nil {
		return nil, err
	}
	if timeout != "" {
		run.More = data.NewMap("timeout", timeout)
	}
	ran, err := calls.RunAll(ctx, m.env, run)
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		m.env.Log.Error("initialize the PostgreSQL data directory: " + ran.Stderr)
		return false, nil
	}
	return true, nil
}

// initdb returns the path of the program initdb.
func (m *module) initdb(ctx context.Context) (string, error) {
	dir, err := m.setting(ctx, "bins_dir")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"initdb", filepath.Join(dir, "initdb")} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", loader.Execution("initdb executable not found.")
}

// runas returns the user that initdb runs as.
func (a datadirInitArgs) runas(family string) string {
	switch {
	case a.Runas != nil:
		return data.Str(a.Runas)
	case family == "OpenBSD":
		return "_postgresql"
	}
	return "postgres"
}

// words returns the options of initdb.
func (a datadirInitArgs) words(runas string) []any {
	user := runas
	if a.User != nil {
		user = data.Str(a.User)
	}
	words := []any{"--pgdata=" + a.Name, "--username=" + user, "--auth=" + data.Str(a.Auth),
		"--encoding=" + data.Str(a.Encoding)}
	if a.Locale != nil {
		words = append(words, "--locale="+data.Str(a.Locale))
	}
	if a.Waldir != nil { // version 10 renamed the long option
		words = append(words, "-X", data.Str(a.Waldir))
	}
	if a.Checksums {
		words = append(words, "--data-checksums")
	}
	return words
}

// secretFile writes a text into a file that only one user can read.
func (m *module) secretFile(ctx context.Context, text, user string) (string, error) {
	f, err := os.CreateTemp("", "brine-initdb-")
	if err != nil {
		return "", loader.Execution("write the password file: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = calls.Chown(ctx, m.env, f.Name(), user, "")
	}
	if err != nil {
		return "", loader.Execution("write the password file: %w",
			errors.Join(err, os.Remove(f.Name())))
	}
	return f.Name(), nil
}
