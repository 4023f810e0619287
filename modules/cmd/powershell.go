package cmd

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"runtime"
	"strings"
	"unicode/utf16"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// powershells runs commands of PowerShell.
type powershells struct {
	commands
	interpreters interpreters
}

// forPowershell converts the command to a command line of PowerShell if that is the shell.
func forPowershell(_ context.Context, j *job) error {
	name := strings.ToLower(j.shell)
	if !strings.Contains(name, "powershell") && !strings.Contains(name, "pwsh") {
		return nil
	}
	line := data.Str(j.cmd)
	if words, ok := wordsOf(j.cmd); ok {
		line = strings.Join(data.Texts(words), " ")
	}
	line = strings.ReplaceAll(strings.TrimFunc(line, isSpace), `"`, `\"`)
	shell := j.shell
	if runtime.GOOS == "windows" {
		shell = `"` + shell + `"`
	}
	switch {
	case j.script:
		j.cmd = shell + " -NonInteractive -NoProfile -ExecutionPolicy Bypass -Command " + line
	case j.encoded:
		j.cmd = shell + " -NonInteractive -NoProfile -EncodedCommand " + line
	default:
		j.cmd = shell + ` -NonInteractive -NoProfile -Command "` + line + `"`
	}
	return nil
}

// powershell runs a command of PowerShell and returns its result as data, converted through JSON.
//
// Arguments besides those of cmd.run:
//
//	shell       powershell or pwsh
//	depth       how many levels of objects are returned
//	encode_cmd  True: encode the command, which saves quoting
//
// CLI Example:
//
//	salt '*' cmd.powershell "$PSVersionTable.CLRVersion"
func (m powershells) powershell(ctx context.Context, a *arguments) (any, error) {
	if err := checkPowershell(a); err != nil {
		return nil, err
	}
	info := m.interpreters.aboutShell(ctx, "powershell")
	if !info.Has("psversion") {
		return nil, loader.Exception("KeyError", "'psversion'")
	}
	line := data.Str(a.get("cmd"))
	if newerThan2(info.Text("psversion")) {
		line = toJSON(line, a)
	}
	r := m.powershellRequest(ctx, a, `try {`+line+`} catch { "{}" }`)
	text, err := m.runText(ctx, a, r)
	if err != nil {
		return nil, err
	}
	v, err := fromJSON(data.Str(text))
	if err != nil {
		m.env.Log.Error("Error converting PowerShell JSON return")
		return &data.Map{}, nil
	}
	return v, nil
}

// powershellAll runs a command of PowerShell and returns pid, return code, standard error and the
// result as data.
//
// The arguments are those of cmd.powershell, and force_list: True always makes the result a list.
//
// CLI Example:
//
//	salt '*' cmd.powershell_all "dir mydirectory" force_list=True
func (m powershells) powershellAll(ctx context.Context, a *arguments) (any, error) {
	if err := checkPowershell(a); err != nil {
		return nil, err
	}
	r := m.powershellRequest(ctx, a, toJSON(data.Str(a.get("cmd")), a))
	line := r.cmd
	ret, err := m.runMap(ctx, a, r)
	if err != nil {
		return nil, err
	}
	out := ret.Text("stdout")
	if out == "" {
		ret.Delete("stdout")
		if a.truth("force_list") {
			ret.Set("result", []any{})
		}
		return ret, nil
	}
	v, err := fromJSON(out)
	if err != nil {
		if r.level == quiet {
			line = "REDACTED"
		}
		ret.Set("cmd", line)
		return nil, loader.ExecutionInfo("cmd.powershell_all cannot parse the Powershell output.",
			ret)
	}
	ret.Delete("stdout")
	if _, list := v.([]any); !list && a.truth("force_list") {
		v = []any{v}
	}
	ret.Set("result", v)
	return ret, nil
}

func checkPowershell(a *arguments) error {
	if shell := a.get("shell"); shell != "powershell" && shell != "pwsh" {
		return loader.Execution("Must specify a valid powershell binary. Must be 'powershell' or 'pwsh'")
	}
	return nil
}

func toJSON(line string, a *arguments) string {
	line += " | ConvertTo-JSON"
	if depth := a.get("depth"); depth != nil {
		line += " -Depth " + data.Str(depth)
	}
	return line
}

// powershellRequest returns the request for a line of PowerShell.
func (m powershells) powershellRequest(ctx context.Context, a *arguments, line string) *request {
	r := m.requests.read(ctx, a)
	r.forceShell(a, true)
	r.cmd = line
	if a.truth("encode_cmd") {
		r.cmd, r.encoded = encodeUTF16("$ProgressPreference='SilentlyContinue'; "+line), true
	}
	return r
}

// encodeUTF16 encodes a text like PowerShell's encoded commands.
func encodeUTF16(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// newerThan2 reports whether this version of PowerShell can write JSON.
func newerThan2(version string) bool {
	return version != "2.0" && !strings.HasPrefix(version, "1.") &&
		!strings.HasPrefix(version, "0.")
}

// fromJSON converts JSON to data. An empty text gives an empty dictionary.
func fromJSON(s string) (any, error) {
	if s == "" {
		return &data.Map{}, nil
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	v, err := readJSON(d)
	if err == nil && d.More() {
		err = errTrailing
	}
	return v, err
}

// powershellModules returns the names of the modules of PowerShell.
func (m interpreters) powershellModules(ctx context.Context) any {
	out, err := m.probe(ctx, probe{words: []string{"powershell", "-NonInteractive",
		"-NoProfile", "-Command",
		"(Get-Module -ListAvailable).Name"}})
	if err != nil {
		m.env.Log.Errorf("list the modules of PowerShell: %v", err)
	}
	names := []any{}
	for name := range strings.FieldsSeq(out) {
		names = append(names, name)
	}
	return names
}
