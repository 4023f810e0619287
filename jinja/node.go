package jinja

// An expr is a part of an expression; it is immutable once its template is resolved.
type expr interface {
	eval(f *frame) (any, error)
	lineno() int
	height() int
}

// A stmt is a statement.
type stmt interface {
	exec(f *frame) error
}

// at is the line of a node, for errors, and the height of an expression in nodes.
type at struct{ line, high int }

func (a at) lineno() int { return a.line }

func (a at) height() int { return a.high }

// A ref is the location of a variable: a number of frames up, and a slot.
type ref struct {
	hops, slot int
}

type access int

const (
	loads access = iota
	stores
	params // set when the frame is entered
)

// Expressions.
type (
	constExpr struct {
		at
		value any
	}
	nameExpr struct {
		at
		name   string
		access access
		ref
	}
	// nsRef is the target ns.attr of a set.
	nsRef struct {
		at
		name, attr string
		ref
	}
	tupleExpr struct {
		at
		items []expr
	}
	listExpr struct {
		at
		items []expr
	}
	dictExpr struct {
		at
		keys, values []expr
	}
	binaryExpr struct {
		at
		op          tokenKind
		left, right expr
	}
	unaryExpr struct {
		at
		op  tokenKind
		arg expr
	}
	logicExpr struct { // and, or
		at
		or          bool
		left, right expr
	}
	notExpr struct {
		at
		arg expr
	}
	compareExpr struct {
		at
		first expr
		ops   []tokenKind // in and not in by those names
		rest  []expr
	}
	concatExpr struct {
		at
		parts []expr
	}
	attrExpr struct {
		at
		of   expr
		name string
	}
	itemExpr struct {
		at
		of, key expr
	}
	sliceExpr struct {
		at
		start, stop, step expr // nil if left out
	}
	callExpr struct {
		at
		fn expr
		arguments
	}
	filterExpr struct {
		at
		of   expr // nil in a filter block: the captured output
		name string
		arguments
	}
	testExpr struct {
		at
		of   expr
		name string
		arguments
	}
	condExpr struct {
		at
		test, yes, no expr // no is nil if left out
		where         string
	}
)

type arguments struct {
	pos      []expr
	kw       []namedExpr
	star     expr
	starStar expr
}

type namedExpr struct {
	name  string
	value expr
}

// A body is a block of statements with its own frame within its function.
type body struct {
	stmts []stmt
	entry []entry
}

// An entry sets the first value of a slot when its frame is entered.
type entry struct {
	slot int
	kind entryKind
	from ref
	name string
}

type entryKind int

const (
	entryUndefined entryKind = iota
	entryResolve             // look the name up in the context
	entryAlias               // take it from the enclosing frame
	entryParam               // set by the caller
)

// Statements.
type (
	outputStmt struct {
		items   []outputItem
		checked bool // does nothing if the template extends another one
	}
	outputItem struct {
		text string
		expr expr // nil for text
	}
	setStmt struct {
		at
		target expr
		value  expr
		export []export
	}
	setBlockStmt struct {
		at
		target expr
		filter *filterExpr
		body   body
		export []export
	}
	ifStmt struct {
		at
		test   expr
		then   []stmt
		elifs  []*ifStmt
		orElse []stmt
	}
	forStmt struct {
		at
		target    expr
		iter      expr
		test      expr
		testEntry []entry
		testGoal  expr // the target as the test sees it
		recursive bool
		body      body
		orElse    *body
		loop      int // slot of the loop variable; -1 if there is none
		slots     int // of the function of a recursive loop
	}
	macroDef struct {
		at
		name     string // "" for a call block
		args     []*nameExpr
		defaults []expr
		body     body
		slots    int
		caller   int // slots of the special variables that the body uses; -1 if it does not
		kwargs   int
		varargs  int
		explicit bool // caller is one of the arguments
	}
	macroStmt struct {
		macroDef
		ref
		export []export
	}
	callStmt struct {
		macroDef
		call *callExpr
	}
	filterStmt struct {
		at
		filter *filterExpr
		body   body
	}
	withStmt struct {
		at
		targets []expr
		values  []expr
		body    body
	}
	autoescapeStmt struct {
		at
		value expr
		body  body
	}
	blockStmt struct {
		at
		name             string
		scoped, required bool
		toplevel         bool
		locals           *localNames
		def              *blockDef
	}
	// blockDef is the function of a block.
	blockDef struct {
		name        string
		stmts       []stmt
		body        body
		slots       int
		self, super int // slots; -1 if unused
		prog        *program
	}
	extendsStmt struct {
		at
		template expr
	}
	includeStmt struct {
		at
		template      expr
		ignoreMissing bool
		withContext   bool
		locals        *localNames
	}
	importStmt struct {
		at
		template    expr
		target      string
		withContext bool
		ref
		toplevel bool
		locals   *localNames
	}
	fromStmt struct {
		at
		template    expr
		names       []importedName
		withContext bool
		toplevel    bool
		locals      *localNames
		where       string
	}
	importedName struct {
		name, alias string
		ref
	}
	doStmt struct {
		at
		value expr
	}
	jumpStmt struct {
		at
		again bool // continue
	}
	tagStmt struct {
		at
		name   string
		exprs  []expr
		target *nameExpr
		bodies []*tagBody
		run    func(r *TagRun) error
		locals *localNames
		export []export
	}
	tagBody struct {
		body
		plain bool // belongs to the enclosing frame
	}
)

// An export is a name that the template provides to templates that import it.
type export struct {
	name string
	ref
	hidden bool // set for includes, but not exported
}

// A local is a name that an included template sees.
type local struct {
	name string
	slot int
}

// localNames are the names of a frame and of its enclosing frames.
type localNames struct {
	own  []local
	up   *localNames
	hops int // to the frame of up
}
