"""What a workflow is: frozen data that every dialect reads into and every runtime runs."""

from __future__ import annotations

from whorl.ir.codec import content_hash as content_hash
from whorl.ir.codec import from_json as from_json
from whorl.ir.codec import to_json as to_json
from whorl.ir.nodes import After as After
from whorl.ir.nodes import Assign as Assign
from whorl.ir.nodes import Block as Block
from whorl.ir.nodes import Branch as Branch
from whorl.ir.nodes import Break as Break
from whorl.ir.nodes import Call as Call
from whorl.ir.nodes import Carry as Carry
from whorl.ir.nodes import Case as Case
from whorl.ir.nodes import Collect as Collect
from whorl.ir.nodes import Compute as Compute
from whorl.ir.nodes import Continue as Continue
from whorl.ir.nodes import ForEach as ForEach
from whorl.ir.nodes import Gate as Gate
from whorl.ir.nodes import Group as Group
from whorl.ir.nodes import IterationFailure as IterationFailure
from whorl.ir.nodes import Loop as Loop
from whorl.ir.nodes import LoopLimits as LoopLimits
from whorl.ir.nodes import Memory as Memory
from whorl.ir.nodes import Node as Node
from whorl.ir.nodes import RunLimits as RunLimits
from whorl.ir.nodes import Stop as Stop
from whorl.ir.nodes import Task as Task
from whorl.ir.nodes import Wait as Wait
from whorl.ir.nodes import Workflow as Workflow
from whorl.ir.nodes import timed_as_a_whole as timed_as_a_whole
from whorl.ir.values import AllOf as AllOf
from whorl.ir.values import AnyOf as AnyOf
from whorl.ir.values import BranchTaken as BranchTaken
from whorl.ir.values import Condition as Condition
from whorl.ir.values import Constant as Constant
from whorl.ir.values import Expression as Expression
from whorl.ir.values import Fields as Fields
from whorl.ir.values import Items as Items
from whorl.ir.values import Judge as Judge
from whorl.ir.values import Plateau as Plateau
from whorl.ir.values import Port as Port
from whorl.ir.values import Retry as Retry
from whorl.ir.values import Score as Score
from whorl.ir.values import Stable as Stable
from whorl.ir.values import Value as Value
from whorl.ir.values import When as When
