// Loads npm packages when they are first needed, because loading them earlier would delay the start of a server.

/** @throws whatever Node throws for a package that cannot be loaded; the next call tries again */
function requirePackage<T>(name: string): T {
  return process.getBuiltinModule('node:module').createRequire(import.meta.url)(name) as T
}

/**
 * Returns what `load` imports or, if the import fails, what `require` finds. Node 20 remembers a failed import forever: without this, one
 * moment without a free descriptor (`EMFILE`) would stop this process from sending files until it restarts.
 */
export async function importPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch {
    return requirePackage(name)
  }
}
