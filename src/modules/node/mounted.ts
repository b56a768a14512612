import type { Policy } from '../../app/policies/policy.ts'

/** On the routes of mounted code: it has routes of its own, of which documents know nothing. */
export const mounted: Policy = { name: 'mounted', describe: () => NOT_DOCUMENTED }

const NOT_DOCUMENTED = Object.freeze({ isDocumented: false })
