package dockercompose

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/yaml"
)

// standardNames returns the names of files that a directory may have.
func standardNames() []string { return []string{"docker-compose.yml", "docker-compose.yaml"} }

// find returns the file at a path: the path itself, or one with a standard name in that directory; "" if
// there is none.
func (m *module) find(path string) string {
	path = filepath.Join(m.env.Root, path)
	if paths.IsFile(path) {
		return path
	}
	for _, name := range standardNames() {
		if file := filepath.Join(path, name); paths.IsFile(file) {
			return file
		}
	}
	return ""
}

// get returns the file of a directory, and whether it is valid.
//
// path
//
//	The directory, or the file.
//
// CLI Example:
//
//	salt myminion dockercompose.get /path/where/docker-compose/stored
func (m *module) get(ctx context.Context, a pathArgs) (any, error) {
	file := m.find(a.Path)
	if file == "" {
		return failed("Path " + a.Path + " is not present"), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return failed("Could not read " + file), nil //nolint:nilerr // Salt's result
	}
	ran, err := m.compose(ctx, file, "config", "--quiet")
	if err != nil {
		return nil, err
	}
	return outcome(true, "Reading content of "+file, data.NewMap(filepath.Base(file), string(text),
		"valid", ran.Retcode == 0)), nil
}

type createArgs struct {
	Path          string
	DockerCompose any
}

// create writes a file that is valid.
//
// path
//
//	The file, or its directory, which is made if it is not there.
//
// docker_compose
//
//	The text of the file, or a dictionary.
//
// CLI Example:
//
//	salt myminion dockercompose.create /path/where/docker-compose/stored content
func (m *module) create(ctx context.Context, a createArgs) (any, error) {
	if !data.Truth(a.DockerCompose) {
		return failed("Creating a docker-compose project failed, you must send a valid docker-compose file"), nil
	}
	text, ok := a.DockerCompose.(string)
	if !ok {
		dumped, err := dump(a.DockerCompose)
		if err != nil {
			return failed("Could not dump " + data.Str(a.DockerCompose) + " " + err.Error()), nil
		}
		text = string(dumped)
	}
	if no, err := m.write(ctx, a.Path, text); err != nil || no != nil {
		return no, err
	}
	return outcome(true, "Successfully created the docker-compose file", data.NewMap("compose.base_dir", a.Path)), nil
}

func dump(v any) ([]byte, error) { return yaml.Dump(v, yaml.DumpOptions{SortKeys: true}) }

// write writes a text to the file at a path if it is valid; otherwise it returns the result for a
// failure.
func (m *module) write(ctx context.Context, path, text string) (*data.Map, error) {
	file := filepath.Join(m.env.Root, path)
	if low := strings.ToLower(path); !strings.HasSuffix(low, ".yml") && !strings.HasSuffix(low, ".yaml") {
		file = filepath.Join(file, standardNames()[0])
	}
	dir := filepath.Dir(file)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, loader.OSError(err)
	}
	draft, err := os.CreateTemp(dir, ".docker-compose-*.yml") // relative paths in it are valid there only
	if err != nil {
		return failed("Could not write " + file), nil //nolint:nilerr // Salt's result
	}
	defer os.Remove(draft.Name())
	_, err = draft.WriteString(text)
	if err := errors.Join(err, draft.Close()); err != nil {
		return failed("Could not write " + file), nil //nolint:nilerr // Salt's result
	}
	ran, err := m.compose(ctx, draft.Name(), "config", "--quiet")
	if err != nil {
		return nil, err
	}
	if no := refusal(ran, "config"); no != nil {
		return no, nil
	}
	if err := replace(file, text); err != nil {
		return failed("Could not write " + file), nil //nolint:nilerr // Salt's result
	}
	return nil, nil
}

// replace replaces the content of a file. Symbolic links are followed, and owner and mode stay.
func replace(file, text string) error {
	return atomicfile.Write(file, []byte(text), atomicfile.Options{Follow: true, Mode: 0o644, Keep: true})
}

// A project is the content of a file.
type project struct {
	file     string
	content  *data.Map
	services *data.Map
}

// load reads the file at a path, or returns the result for a failure.
func (m *module) load(path string) (*project, *data.Map) {
	file := m.find(path)
	if file == "" {
		return nil, failed("Could not find docker-compose file at " + path)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, failed("Could not read " + file)
	}
	v, err := yaml.Load(text, yaml.Options{})
	if err != nil {
		return nil, failed("Could not parse " + file + " " + err.Error())
	}
	content, ok := v.(*data.Map)
	if !ok || content.Len() == 0 {
		return nil, failed("Got empty compose file at " + file)
	}
	if services, ok := content.Value("services").(*data.Map); ok {
		return &project{file, content, services}, nil
	}
	services := &data.Map{}
	content.Set("services", services)
	return &project{file, content, services}, nil
}

// save writes a project back.
func (m *module) save(ctx context.Context, p *project, message string) (any, error) {
	text, err := dump(p.content)
	if err != nil {
		return failed("Could not dump " + data.Str(p.content) + " " + err.Error()), nil
	}
	path := p.file
	if m.env.Root != "" {
		path = strings.TrimPrefix(path, filepath.Clean(m.env.Root))
	}
	if no, err := m.write(ctx, path, string(text)); err != nil || no != nil {
		return no, err
	}
	return outcome(true, message, p.content), nil
}

type definitionArgs struct {
	Path        string
	ServiceName string
	Definition  any
}

// serviceCreate adds a service to the file. It neither pulls nor starts it. The file loses its comments.
//
// definition
//
//	The service: YAML, JSON or a dictionary.
//
// CLI Example:
//
//	salt myminion dockercompose.service_create /path/where/docker-compose/stored service_name definition
func (m *module) serviceCreate(ctx context.Context, a definitionArgs) (any, error) {
	return m.define(ctx, a, false, "Service "+a.ServiceName+" created")
}

// serviceUpsert adds a service to the file, or replaces it. It neither pulls nor starts it. The file loses
// its comments.
//
// definition
//
//	The service: YAML, JSON or a dictionary.
//
// CLI Example:
//
//	salt myminion dockercompose.service_upsert /path/where/docker-compose/stored service_name definition
func (m *module) serviceUpsert(ctx context.Context, a definitionArgs) (any, error) {
	return m.define(ctx, a, true, "Service definition for "+a.ServiceName+" is set")
}

func (m *module) define(ctx context.Context, a definitionArgs, replace bool, message string) (any, error) {
	p, no := m.load(a.Path)
	if no != nil {
		return no, nil
	}
	definition := a.Definition
	if text, ok := definition.(string); ok {
		v, err := yaml.Load([]byte(text), yaml.Options{})
		if err != nil {
			return failed("Could not parse " + text + " " + err.Error()), nil
		}
		definition = v
	}
	if p.services.Has(a.ServiceName) && !replace {
		return failed("Service " + a.ServiceName + " already exists"), nil
	}
	p.services.Set(a.ServiceName, definition)
	return m.save(ctx, p, message)
}

type serviceArgs struct {
	Path        string
	ServiceName string
}

// serviceRemove removes a service from the file. Its containers stay. The file loses its comments.
//
// CLI Example:
//
//	salt myminion dockercompose.service_remove /path/where/docker-compose/stored service_name
func (m *module) serviceRemove(ctx context.Context, a serviceArgs) (any, error) {
	p, no := m.load(a.Path)
	if no != nil {
		return no, nil
	}
	if !p.services.Has(a.ServiceName) {
		return failed("Service " + a.ServiceName + " did not exists"), nil
	}
	p.services.Delete(a.ServiceName)
	return m.save(ctx, p, "Service "+a.ServiceName+" is removed from "+a.Path)
}

type tagArgs struct {
	Path        string
	ServiceName string
	Tag         any
}

// serviceSetTag changes the tag of a service's image in the file. It neither pulls nor starts it. The file
// loses its comments.
//
// CLI Example:
//
//	salt myminion dockercompose.service_set_tag /path/where/docker-compose/stored service_name tag
func (m *module) serviceSetTag(ctx context.Context, a tagArgs) (any, error) {
	p, no := m.load(a.Path)
	if no != nil {
		return no, nil
	}
	service, ok := p.services.Value(a.ServiceName).(*data.Map)
	if !ok {
		return failed("Service " + a.ServiceName + " did not exists"), nil
	}
	image := calls.Text(service.Value("image"))
	if image == "" {
		return failed("Service " + a.ServiceName + " did not contain the variable \"image\""), nil
	}
	name, _ := docker.SplitTag(image)
	service.Set("image", name+":"+data.Str(a.Tag))
	return m.save(ctx, p, "Service "+a.ServiceName+" is set to tag \""+data.Str(a.Tag)+"\"")
}
