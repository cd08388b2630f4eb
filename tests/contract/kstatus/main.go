// Judges Kubernetes objects by the rules of kstatus, the library behind Flux, Helm and many a tool, and by
// CEL expressions such as Flux takes.
//
// Standard input holds one {"object": …, "expressions": {"name": "CEL"}} per line; for each a line goes out:
// {"status": …, "message": …, "expressions": {"name": true}}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// The fields of an object that expressions may name.
var fields = []string{"apiVersion", "kind", "metadata", "spec", "status"}

type question struct {
	Object      map[string]any    `json:"object"`
	Expressions map[string]string `json:"expressions"`
}

type answer struct {
	Status      string          `json:"status"`
	Message     string          `json:"message"`
	Expressions map[string]bool `json:"expressions"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16*1024*1024)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		given, err := judge(lines.Bytes())
		if err == nil {
			err = out.Encode(given)
		}
		end(err)
	}
	end(lines.Err())
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(line []byte) (*answer, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	text, err := json.Marshal(asked.Object)
	if err != nil {
		return nil, err
	}
	// Its own reader makes whole numbers integers, as the API's clients do.
	var object unstructured.Unstructured
	if err := object.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	found, err := status.Compute(&object)
	if err != nil {
		return nil, err
	}
	given := answer{found.Status.String(), found.Message, map[string]bool{}}
	for name, expression := range asked.Expressions {
		if given.Expressions[name], err = evaluate(expression, object.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return &given, nil
}

func evaluate(expression string, object map[string]any) (bool, error) {
	options := []cel.EnvOption{}
	values := map[string]any{}
	for _, field := range fields {
		options = append(options, cel.Variable(field, cel.DynType))
		values[field] = object[field]
		if object[field] == nil {
			values[field] = map[string]any{}
		}
	}
	environment, err := cel.NewEnv(options...)
	if err != nil {
		return false, err
	}
	tree, issues := environment.Compile(expression)
	if issues != nil && issues.Err() != nil {
		return false, issues.Err()
	}
	program, err := environment.Program(tree)
	if err != nil {
		return false, err
	}
	result, _, err := program.Eval(values)
	if err != nil {
		return false, err
	}
	said, ok := result.Value().(bool)
	if !ok {
		return false, fmt.Errorf("%s gives no yes or no", expression)
	}
	return said, nil
}
