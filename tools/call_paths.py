"""Counts the calls between the catalogue and a Secret with credentials: `python -m tools.call_paths`.

The graph is static and holds functions and methods of `controller/` and `containers/` only. A pair of
caller and called function counts once. Properties that are read, functions that are handed over, and
constructors with code of their own count as calls. A call of a port ends there. A method of the abstract
step is that of the generation.

The tool prints three readings. `path`: calls on a way from the entry of a pass to the write of a Secret.
`whole`: every call below the choice of services and the step of generation, with all that they read, decide
and write. `between modules`: those of the whole that leave a module. `up` are calls to a higher layer.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("controller", "containers")
LAYERS = ("domain", "ports", "render", "reconcile", "adapters", "cli", "operator", "containers")

PASS = "controller.reconcile.credentials.secrets.SecretsReconciler.reconcile"
CHOICE = "controller.domain.region.required_credentials.region_services"
NEEDS = "controller.domain.region.required_credentials.region_credentials"
GENERATION = "controller.reconcile.credentials.generation.generation.Generation"
WRITES = ("controller.ports.kubernetes.Kube.create", "controller.ports.kubernetes.Kube.replace")
# What the graph cannot see: functions of the composition root, and the step of a mapping.
BOUND = {"SecretsReconciler._needs_of": NEEDS, "CredentialStep": GENERATION}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Call = tuple[str, str]


@dataclass
class Class:
    """A class, with its bases as they are written and the types of its attributes as expressions."""

    name: str
    module: str
    bases: list[ast.expr]
    methods: dict[str, Function] = field(default_factory=dict)
    attributes: dict[str, ast.expr] = field(default_factory=dict)
    made: dict[str, tuple[Function, ast.expr]] = field(default_factory=dict)


class Project:
    """All modules below folders of a root, and which name means what in each of them."""

    def __init__(self, root: Path = ROOT, folders: Iterable[str] = FOLDERS) -> None:
        self.names: dict[str, dict[str, str]] = {}
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, Class] = {}
        self.aliases: dict[str, ast.expr] = {}
        for folder in folders:
            for path in sorted((root / folder).rglob("*.py")):
                module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
                self._read(module, ast.parse(path.read_text(encoding="utf-8")))

    def _read(self, module: str, tree: ast.Module) -> None:
        names = self.names.setdefault(module, {})
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        for part in tree.body:
            if isinstance(part, Function):
                names[part.name] = f"{module}.{part.name}"
                self.functions[f"{module}.{part.name}"] = part
            elif isinstance(part, ast.ClassDef):
                names[part.name] = f"{module}.{part.name}"
                self._read_class(module, part)
            elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                names[part.targets[0].id] = f"{module}.{part.targets[0].id}"
                self.aliases[f"{module}.{part.targets[0].id}"] = part.value

    def _read_class(self, module: str, node: ast.ClassDef) -> None:
        name = f"{module}.{node.name}"
        found = self.classes[name] = Class(name, module, node.bases)
        for part in node.body:
            if isinstance(part, Function):
                found.methods[part.name] = part
                self.functions[f"{name}.{part.name}"] = part
            elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                found.attributes[part.target.id] = part.annotation
        for method in found.methods.values():
            for inner in ast.walk(method):
                if isinstance(inner, ast.Assign | ast.AnnAssign) and inner.value is not None:
                    for target in inner.targets if isinstance(inner, ast.Assign) else [inner.target]:
                        if isinstance(target, ast.Attribute) and _is_self(target.value):
                            found.made.setdefault(target.attr, (method, inner.value))

    def module_of(self, name: str) -> str:
        while name and name not in self.names:
            name = name.rpartition(".")[0]
        return name

    def class_named(self, annotation: ast.expr | None, module: str) -> Class | None:
        """The class of the project that an annotation names, an optional one too."""
        if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple):
            generic = self.class_named(annotation.value, module)  # of a mapping, its values
            return generic or self.class_named(annotation.slice.elts[-1], module)
        for node in ast.walk(annotation) if annotation is not None else ():
            if isinstance(node, ast.Name):
                full = self.names[module].get(node.id, "")
                alias = self.aliases.get(full)
                found = (
                    self.classes.get(full) or self.class_named(alias, self.module_of(full)) if full else None
                )
                if found is not None:
                    return found
        return None

    def method(self, owner: Class, name: str) -> str | None:
        """The full name of a method, of a base too."""
        if name in owner.methods:
            return f"{owner.name}.{name}"
        for base in owner.bases:
            above = self.class_named(base, owner.module)
            found = self.method(above, name) if above is not None and above is not owner else None
            if found is not None:
                return found
        return None


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _decorated(function: Function, *words: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id in words for one in function.decorator_list)


class Calls:
    """What one function calls."""

    def __init__(self, project: Project, name: str, bound: Mapping[str, str]) -> None:
        self._project, self._bound = project, bound
        self._function = project.functions[name]
        self._module = project.module_of(name)
        self._names = project.names[self._module]
        self._owner = project.classes.get(name.rpartition(".")[0])
        self._locals = dict(self._assigned())

    def called(self) -> Iterator[str]:
        """The full names, each as often as it stands there."""
        for node in ast.walk(ast.Module([*self._function.body], [])):
            if isinstance(node, ast.Name) and self._names.get(node.id) in self._project.functions:
                yield self._names[node.id]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield from self._constructor(self._names.get(node.func.id, ""))
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found = self._attribute(node)
                if found is not None:
                    yield found

    def _constructor(self, name: str) -> Iterator[str]:
        owner = self._project.classes.get(name)
        made = self._project.method(owner, "__init__") if owner is not None else None
        if made is not None:
            yield made

    def _attribute(self, node: ast.Attribute) -> str | None:
        owner = self.type_of(node.value)
        if owner is None:
            return None
        bound = self._bound.get(f"{owner.name.rpartition('.')[2]}.{node.attr}")
        return bound or self._project.method(owner, node.attr)

    def _assigned(self) -> Iterator[tuple[str, ast.expr]]:
        for node in ast.walk(self._function):
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                yield node.targets[0].id, node.value
            elif isinstance(node, ast.NamedExpr):
                yield node.target.id, node.value

    def type_of(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> Class | None:
        """The class of an expression; None where it is not of the project, or not known."""
        found: Class | None = None
        if isinstance(node, ast.Name):
            found = self._type_of_name(node.id, seen)
        elif isinstance(node, ast.Attribute):
            owner = self.type_of(node.value, seen)
            found = self._type_of_attribute(owner, node.attr) if owner is not None else None
        elif isinstance(node, ast.Call):
            found = self._type_of_call(node, seen)
        elif isinstance(node, ast.Subscript | ast.Await):
            found = self.type_of(node.value, seen)
        elif isinstance(node, ast.BoolOp):
            found = next((one for one in (self.type_of(part, seen) for part in node.values) if one), None)
        elif isinstance(node, ast.IfExp):
            found = self.type_of(node.body, seen) or self.type_of(node.orelse, seen)
        step = self._bound.get(found.name.rpartition(".")[2]) if found is not None else None
        return self._project.classes[step] if step is not None else found

    def _type_of_name(self, name: str, seen: frozenset[str]) -> Class | None:
        if name == "self":
            return self._owner
        if name in self._names:
            return self._project.classes.get(self._names[name])
        arguments = self._function.args
        for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if one.arg == name:
                return self._project.class_named(one.annotation, self._module)
        if name in self._locals and name not in seen:
            return self.type_of(self._locals[name], seen | {name})
        for node in ast.walk(self._function):
            if not isinstance(node, ast.For | ast.comprehension):
                continue
            if isinstance(node.target, ast.Name) and node.target.id == name and name not in seen:
                return self.type_of(node.iter, seen | {name})
        return None

    def _type_of_attribute(self, owner: Class, name: str) -> Class | None:
        if name in owner.attributes:
            return self._project.class_named(owner.attributes[name], owner.module)
        if name in owner.made:
            method, value = owner.made[name]
            return Calls(self._project, f"{owner.name}.{method.name}", self._bound).type_of(value)
        method_name = self._project.method(owner, name)
        if method_name is not None and _decorated(
            self._project.functions[method_name], "property", "cached_property"
        ):
            return self._returned(method_name)
        return None

    def _type_of_call(self, node: ast.Call, seen: frozenset[str]) -> Class | None:
        if isinstance(node.func, ast.Name):
            full = self._names.get(node.func.id, "")
            if full in self._project.classes:
                return self._project.classes[full]
            if node.func.id in {"replace", "sorted", "tuple", "list", "next", "reversed"} and node.args:
                return self.type_of(node.args[0], seen)
            return self._returned(full)
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in {"get", "values"}:
                return self.type_of(node.func.value, seen)
            owner = self.type_of(node.func.value, seen)
            method = self._project.method(owner, node.func.attr) if owner is not None else None
            return self._returned(method) if method is not None else None
        return None

    def _returned(self, name: str) -> Class | None:
        function = self._project.functions.get(name)
        return (
            self._project.class_named(function.returns, self._project.module_of(name)) if function else None
        )


@dataclass(frozen=True)
class Counted:
    """The calls of one reading."""

    calls: frozenset[Call]
    modules: frozenset[str]
    up: frozenset[Call]

    def __str__(self) -> str:
        return (
            f"{len(self.calls)} calls through {len(self.modules)} modules, {len(self.up)} of them up a layer"
        )


def below(
    project: Project, entries: Iterable[str], bound: Mapping[str, str] | None = None
) -> frozenset[Call]:
    """Every call below some functions."""
    found: set[Call] = set()
    waiting = list(entries)
    known = set(waiting)
    while waiting:
        caller = waiting.pop()
        for called in Calls(project, caller, bound or {}).called():
            if called != caller:
                found.add((caller, called))
            if called not in known:
                known.add(called)
                waiting.append(called)
    return frozenset(found)


def on_the_way(calls: frozenset[Call], ends: Iterable[str]) -> frozenset[Call]:
    """The calls that lie on a path to one of the ends."""
    reach = set(ends)
    while more := {caller for caller, called in calls if called in reach} - reach:
        reach |= more
    return frozenset(one for one in calls if one[1] in reach)


def between_modules(project: Project, calls: frozenset[Call]) -> frozenset[Call]:
    """The calls that leave a module."""
    return frozenset(one for one in calls if project.module_of(one[0]) != project.module_of(one[1]))


def counted(project: Project, calls: frozenset[Call]) -> Counted:
    """The figures of some calls."""
    modules = frozenset(project.module_of(name) for call in calls for name in call)
    layers = {module: _layer(module) for module in modules}
    up = (one for one in calls if layers[project.module_of(one[0])] < layers[project.module_of(one[1])])
    return Counted(calls, modules, frozenset(up))


def _layer(module: str) -> int:
    parts = module.split(".")
    word = parts[0] if parts[0] == "containers" else parts[1] if len(parts) > 1 else ""
    return LAYERS.index(word) if word in LAYERS else -1


def readings(project: Project) -> dict[str, frozenset[Call]]:
    """The calls of each reading by its name."""
    steps = [f"{GENERATION}.{name}" for name in ("observe", "decide", "apply")]
    whole = below(project, (CHOICE, NEEDS, *steps), BOUND)
    return {
        "path": on_the_way(below(project, (PASS,), BOUND), WRITES),
        "whole": whole,
        "between modules": between_modules(project, whole),
    }


def main() -> int:
    """Prints the figures, and the calls with `--show`."""
    parser = argparse.ArgumentParser(prog="tools.call_paths", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the calls too")
    asked = parser.parse_args()
    project = Project()
    for what, calls in readings(project).items():
        print(f"{what}: {counted(project, calls)}")
        for caller, called in sorted(calls) if asked.show else ():
            print(f"  {caller.removeprefix('controller.')} -> {called.removeprefix('controller.')}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
