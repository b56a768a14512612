// Packages that are loaded when they are first needed, so that starting a server need not wait for them.

/** @throws what Node says of a package that cannot be loaded; the next call looks again */
export function requirePackage<T>(name: string): T {
  return process.getBuiltinModule('node:module').createRequire(import.meta.url)(name) as T
}

/**
 * What `load` imports; where that fails, what `require` finds. Node 20 keeps the failure of an import for good: one moment without a free
 * descriptor (`EMFILE`) would be the end of all files that this process sends.
 */
export async function importPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch {
    return requirePackage(name)
  }
}
