package testdocker

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

type program struct {
	argv, env []string
	stdin     bool
	code, pid int
}

func (e *Engine) makeExec(r call, name string) (any, error) {
	return e.change(name, func(c *container) (any, error) {
		if c.status != "running" {
			return nil, refuse(http.StatusConflict, "Container %s is not running", c.id)
		}
		p := &program{stdin: r.body["AttachStdin"] == true}
		for _, word := range listOf(r.body["Cmd"]) {
			p.argv = append(p.argv, textOf(word))
		}
		for _, word := range listOf(r.body["Env"]) {
			p.env = append(p.env, textOf(word))
		}
		id := e.id("exec")
		e.execs[id] = p
		return object{"\x00": http.StatusCreated, "Id": id}, nil
	})
}

func (e *Engine) startExec(r call, id string) (any, error) {
	e.mu.Lock()
	p := e.execs[id]
	e.mu.Unlock()
	if p == nil {
		return nil, refuse(http.StatusNotFound, "No such exec instance: %s", id)
	}
	conn, rw, err := r.w.(http.Hijacker).Hijack()
	if err != nil {
		return nil, refuse(http.StatusInternalServerError, "hijack: %v", err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn,
		"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if p.stdin {
		cmd.Stdin = rw
	}
	if err := cmd.Run(); cmd.ProcessState == nil {
		p.code = 127
		errs.WriteString(err.Error())
	} else {
		p.code, p.pid = cmd.ProcessState.ExitCode(), cmd.ProcessState.Pid()
	}
	if out.Len() > 0 {
		_, _ = conn.Write(frame(1, out.Bytes()))
	}
	if errs.Len() > 0 {
		_, _ = conn.Write(frame(2, errs.Bytes()))
	}
	return answered{}, nil
}

func (e *Engine) inspectExec(_ call, id string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.execs[id]
	if p == nil {
		return nil, refuse(http.StatusNotFound, "No such exec instance: %s", id)
	}
	return object{"ID": id, "Running": false, "ExitCode": p.code, "Pid": p.pid}, nil
}

// below refuses paths that are not below Root.
func (e *Engine) below(path string) error {
	if rel, err := filepath.Rel(e.Root, path); e.Root == "" || err != nil || !filepath.IsLocal(rel) {
		return refuse(http.StatusForbidden, "%s is not below the engine's root", path)
	}
	return nil
}

func (e *Engine) getArchive(r call, name string) (any, error) {
	return e.change(name, func(*container) (any, error) {
		path := r.URL.Query().Get("path")
		if err := e.below(path); err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, refuse(http.StatusNotFound, "Could not find the file %s in container %s", path, name)
		}
		stat, _ := json.Marshal(object{"name": filepath.Base(path), "size": len(text), "mode": 0o644})
		r.w.Header().Set("X-Docker-Container-Path-Stat", base64.StdEncoding.EncodeToString(stat))
		var packed bytes.Buffer
		w := tar.NewWriter(&packed)
		_ = w.WriteHeader(&tar.Header{Name: filepath.Base(path), Size: int64(len(text)), Mode: 0o644, Typeflag: tar.TypeReg})
		_, _ = w.Write(text)
		_ = w.Close()
		return packed.Bytes(), nil
	})
}

func (e *Engine) putArchive(r call, name string) (any, error) {
	return e.change(name, func(*container) (any, error) {
		dir := r.URL.Query().Get("path")
		if err := e.below(dir); err != nil {
			return nil, err
		}
		for packed := tar.NewReader(r.Body); ; {
			h, err := packed.Next()
			if errors.Is(err, io.EOF) {
				return status(http.StatusOK), nil
			}
			if err != nil || strings.Contains(h.Name, "..") {
				return nil, refuse(http.StatusBadRequest, "read the archive: %v", err)
			}
			text, err := io.ReadAll(packed)
			_ = os.Remove(filepath.Join(dir, h.Name)) // as Docker does, so that the mode is the archive's
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, h.Name), text, fs.FileMode(h.Mode)&fs.ModePerm)
			}
			if err != nil {
				return nil, refuse(http.StatusInternalServerError, "%v", err)
			}
		}
	})
}
