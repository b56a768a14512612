// Which exchanges are runs that a module has started, and for what.

import type { ConnectionInfo } from '../../http/connection-info.ts'

/** What `rerun` was given, by the connection that stands for each run. */
export const runMarks: WeakMap<ConnectionInfo, object> = new WeakMap()
