import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * Where the page is. It is a file among the sources, and tsc copies only what it compiles. So it is looked for in `examples/demo` of the
 * folders above this module, the nearest first: that finds it from the sources as well as from wherever they were compiled to below them.
 */
export function pagePath(): string {
  const here = new URL('.', import.meta.url)
  for (let folder = here; ; folder = new URL('..', folder)) {
    const page = fileURLToPath(new URL('examples/demo/page.html', folder))
    if (existsSync(page)) return page
    if (folder.pathname === '/') throw new Error(`no examples/demo/page.html above ${fileURLToPath(here)}`)
  }
}
