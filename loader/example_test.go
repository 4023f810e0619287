package loader_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/loader"
)

type greetArgs struct {
	Name string
	Loud bool `default:"False"`
}

// greet greets somebody.
func greet(_ context.Context, a greetArgs) (any, error) {
	text := "hello " + a.Name
	if a.Loud {
		text = strings.ToUpper(text)
	}
	return text, nil
}

// A plug-in with one function, called with arguments as they come from a command line.
func Example() {
	hello := loader.Plugin{Name: "hello", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("greet", greet)}}, nil
	}}
	registry, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{hello})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, words := range [][]string{{"web1"}, {"web1", "loud=True"}, {}} {
		result := registry.Call(context.Background(), "hello.greet", loader.WireArgs(words),
			loader.CallOptions{})
		fmt.Println(result.Value)
	}
	// Output:
	// hello web1
	// HELLO WEB1
	// Passed invalid arguments to hello.greet: greet() missing 1 required positional argument: 'name'
}
