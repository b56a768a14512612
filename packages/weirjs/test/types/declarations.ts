// Declarations that would not do what they seem to. Only tsc runs this file.

import { Controller, Route, t } from '../../src/index.ts'

// @ts-expect-error a class accepts only options for all its routes
@Route('/admin', { body: 'stream' })
export class Declared extends Controller {
  @Route('/any/:id', { id: t.int, metadata: { anonymous: true } })
  any({ id }: { id: number }) {
    return id
  }

  // @ts-expect-error the route passes a number
  @Route('/wrong/:id', { id: t.int })
  wrong({ id }: { id: string }) {
    return id
  }

  // @ts-expect-error neither an option nor a schema
  @Route('/option', { boby: 'stream' })
  option() {}

  // @ts-expect-error a method alone is not a path
  @Route('GET')
  list() {}

  // @ts-expect-error the same with a declaration
  @Route('DELETE', { metadata: {} })
  remove() {}
}

const prefix: string = '/somewhere'

@Route(prefix)
export class Computed extends Controller {
  @Route(prefix)
  any() {}

  @Route(`${prefix}/:id`, { id: t.int })
  one({ id }: { id: number }) {
    return id
  }
}
