import { Field, t } from 'weirjs'

/** The model that `/user/save` populates. The value that a property starts with, or its `@Field`, decides what it accepts. */
export class User {
  @Field(t.uuid) id = ''
  name = ''
  creation = new Date(0)
  enabled = false
}
