"""Steps in the words of the command line."""

from __future__ import annotations

from metashell.rehearse.steps import (
    AddBroker,
    ConfigSet,
    CreateTopic,
    DeleteTopic,
    Elect,
    FeatureUpgrade,
    KillBroker,
    LoseController,
    LoseRack,
    Reassign,
    RestartBroker,
    RollBrokers,
    Step,
    Unregister,
)


def words(step: Step) -> str:
    """What a step does, short: `kill-broker 3`."""
    match step:
        case KillBroker():
            return f"kill-broker {step.broker}"
        case RestartBroker():
            return f"restart-broker {step.broker}"
        case RollBrokers():
            return f"roll-brokers --max-offline {step.max_offline}"
        case LoseRack():
            return f"lose-rack {step.rack}"
        case Unregister():
            return f"unregister {step.broker}"
        case Reassign():
            return f"reassign ({len(step.moves)} partitions)"
        case AddBroker():
            return f"add-broker {step.broker}"
        case Elect():
            return f"elect {'unclean' if step.unclean else 'preferred'}"
        case FeatureUpgrade():
            return f"feature upgrade {step.feature} {step.level}"
        case LoseController():
            return "lose-controller" if step.controller is None else f"lose-controller {step.controller}"
        case CreateTopic():
            return f"topic create {step.topic}"
        case DeleteTopic():
            return f"topic delete {step.topic}"
        case ConfigSet():
            return "config set " + " ".join(name for name, _ in step.values)
