// Names for the exported types of a document's schemas.

/** The names that the declarations export themselves, and the types that they use. */
const OWN = ['paths', 'components', 'operations', 'webhooks', 'Blob']
/** Names that no type may have, and names of built-in types. */
const RESERVED =
  'any as async await bigint boolean break case catch class const constructor continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface intrinsic is keyof let module namespace never new null number object of package private protected public readonly require return set static string super switch symbol this throw true try type typeof undefined unique unknown var void while with yield globalThis'.split(
    ' ',
  )

/** An identifier for each name, in order: the name itself if it is a free identifier. */
export function typeNames(names: Iterable<string>): ReadonlyMap<string, string> {
  const taken = new Set([...OWN, ...RESERVED])
  const all = [...names]
  const found = new Map<string, string>()
  // Names that can stay unchanged are assigned first, whatever the names before them would become.
  for (const name of all) {
    if (!isIdentifier(name) || taken.has(name)) continue
    taken.add(name)
    found.set(name, name)
  }
  for (const name of all) {
    if (found.has(name)) continue
    const base = name.replace(/[^\w$]/g, '_').replace(/^(?=\d|$)/, '_')
    let candidate = taken.has(base) ? `${base}_` : base
    for (let number = 2; taken.has(candidate); number++) candidate = `${base}_${number}`
    taken.add(candidate)
    found.set(name, candidate)
  }
  return new Map(all.map((name) => [name, found.get(name)!]))
}

function isIdentifier(name: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(name)
}
