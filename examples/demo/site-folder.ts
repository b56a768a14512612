import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * Where the page and what belongs to it are. They are files among the sources, and tsc copies only what it compiles. So they are looked for in
 * `examples/demo` of the folders above this module, the nearest first: that finds them from the sources as well as from wherever they were
 * compiled to below them.
 */
export function siteFolder(): string {
  const here = new URL('.', import.meta.url)
  for (let folder = here; ; folder = new URL('..', folder)) {
    const site = fileURLToPath(new URL('examples/demo/site', folder))
    if (existsSync(site)) return site
    if (folder.pathname === '/') throw new Error(`no examples/demo/site above ${fileURLToPath(here)}`)
  }
}
