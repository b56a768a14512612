// The names of the DOM that the types of playwright-core mention. All of lib.dom would make `window` known to the library and its tests.

type Node = object
type HTMLElement = object
type SVGElement = object
type HTMLElementTagNameMap = Record<string, object>
