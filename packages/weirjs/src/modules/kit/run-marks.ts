// Marks the exchanges that a module has started with `rerun`.

import type { ConnectionInfo } from '../../http/connection-info.ts'

/** The marks that were passed to `rerun`, by the connection that stands for each run. */
export const runMarks: WeakMap<ConnectionInfo, object> = new WeakMap()
