package loader

// A Reference is a function as an argument of another function: that of a name in the registry of a
// kind. A function in another language receives it as a function of that language.
type Reference struct{ Kind, Name string }
