// The documents of each server, for `weir openapi`, including those that are not served.

const DOCUMENTS = new WeakMap<object, Map<string, () => string>>()

/**
 * Tells `weir openapi` about a document that a module writes, so that the command can print it without a request. The document is kept as long as
 * `host`.
 * @param host the server, or the group, on which the module is installed
 * @param name of the module. One with the same name is replaced
 * @param text called when the document is needed; what it throws ends the command
 */
export function noteDocument(host: object, name: string, text: () => string): void {
  const known = DOCUMENTS.get(host)
  if (known === undefined) DOCUMENTS.set(host, new Map([[name, text]]))
  else known.set(name, text)
}

/** The functions that write documents, by the names of the modules that are installed on `host`. */
export function documentsOf(host: object): ReadonlyMap<string, () => string> {
  return DOCUMENTS.get(host) ?? new Map()
}
